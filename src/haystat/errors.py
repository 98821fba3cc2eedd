"""Every error haystat raises on purpose.

HaystatError (ValueError)
├── PoolError              the pool cannot be built from what was given
│   ├── BadScore           a score is NaN, infinite or not a number
│   ├── BadSignal          a signal is infinite, constant, missing everywhere, or the label itself
│   ├── LengthMismatch     arrays that describe the same items differ in length
│   ├── DuplicateId        two items share an id
│   ├── EmptyPool          no items
│   └── PoolChanged        the source of the pool is not what it was
├── UnknownName            no measure, design, column, system … of that name
├── BadOption              an option outside what is allowed
├── AnswerError            an answer cannot be taken
│   ├── UnknownLabel       the label is not one of the pool's classes
│   ├── UnknownItem        no item of that id, or it was never asked
│   └── ConflictingAnswer  the item has another answer already
├── BudgetError            more labels wanted than there are items
├── NoSupport              the draws cannot speak about this measure
├── EngineError            the database that holds the pool failed
├── RemoteError            a server cannot be reached or failed; another try may go well
└── FileError              a file cannot be read, or is not what it claims to be
    ├── StudyError         a study or log is none, damaged or too new
    │   ├── StudyExists    there is a file of that name already
    │   └── LogError       what was recorded makes no sense, or belongs to another pool
    └── StorageError       it cannot be written now: locked, read-only, failing; try again later
        └── StorageFull    the disk is full
"""


def first_line(error: BaseException) -> str:
    """What an error of another library says, without its stack trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


class HaystatError(ValueError):
    """Base of all haystat errors."""


class PoolError(HaystatError):
    """The pool cannot be built from what was given."""


class BadScore(PoolError):
    """A score is NaN, infinite or not a number."""


class BadSignal(PoolError):
    """A signal is infinite, constant, missing everywhere, or the label itself."""


class LengthMismatch(PoolError):
    """Arrays that describe the same items differ in length."""


class DuplicateId(PoolError):
    """Two items share an id."""


class EmptyPool(PoolError):
    """The pool has no items."""


class PoolChanged(PoolError):
    """The source of the pool is not what it was."""


class UnknownName(HaystatError):
    """No measure, design, column or system of that name."""


class BadOption(HaystatError):
    """An option outside what is allowed."""


class AnswerError(HaystatError):
    """An answer cannot be taken; nothing was recorded."""


class UnknownLabel(AnswerError):
    """The label is not one of the pool's classes."""


class UnknownItem(AnswerError):
    """No item of that id, or it was never asked."""


class ConflictingAnswer(AnswerError):
    """The item has another answer already."""


class BudgetError(HaystatError):
    """More labels wanted than there are items."""


class NoSupport(HaystatError):
    """The draws cannot speak about this measure."""


class EngineError(HaystatError):
    """The database that holds the pool failed; nothing was written."""


class RemoteError(HaystatError):
    """A server cannot be reached or failed; another try may go well."""


class FileError(HaystatError):
    """A file cannot be read, or is not what it claims to be."""


class StudyError(FileError):
    """A study or log is none, damaged or too new."""


class LogError(StudyError):
    """What was recorded makes no sense, or belongs to another pool."""


class StudyExists(StudyError):
    """There is a file of that name already."""


class StorageError(FileError):
    """A file cannot be written now; nothing of the call was recorded."""


class StorageFull(StorageError):
    """The disk is full; nothing of the call was recorded."""
