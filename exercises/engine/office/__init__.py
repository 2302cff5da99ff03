"""The classroom's office: takes files in, keeps all of them, has them graded, and writes the tables (../README.md)."""
