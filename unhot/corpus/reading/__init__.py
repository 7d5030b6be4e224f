"""Text of any kind as blocks of bytes, and these as counted ids."""
