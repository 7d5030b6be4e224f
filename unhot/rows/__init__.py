"""Rows of files, tables and values of Python as batches of Arrow, in bounded memory."""
