"""What everything rests on: arrays, checks of arguments, files on disk, tables."""
