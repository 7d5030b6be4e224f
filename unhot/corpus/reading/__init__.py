"""Read text of any kind as blocks of bytes, and turn the blocks into counted ids."""
