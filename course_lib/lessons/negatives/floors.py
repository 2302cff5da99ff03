"""What a temperature can express (`course_lib.losses.floors`), under the name by which the chapter calls it."""

from course_lib.losses.floors import largest_tau as largest_tau
from course_lib.losses.floors import loss_floor as loss_floor
from course_lib.losses.floors import most_probable as most_probable
