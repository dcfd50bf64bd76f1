//! Names of NCCL's interface (`nccl.h`, 2.30), as far as they are used.

use piper_standin_interface::driver::DriverError;

/// `ncclComm_t`: a number that is looked up.
pub(crate) type Handle = usize;
/// `cudaStream_t`.
pub(crate) type Stream = usize;

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct UniqueId(pub(crate) [u8; 128]);

/// `ncclResult_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const CUDA_ERROR: Self = Self(1);
    pub(crate) const SYSTEM_ERROR: Self = Self(2);
    pub(crate) const INVALID_ARGUMENT: Self = Self(4);
    pub(crate) const INVALID_USAGE: Self = Self(5);
    pub(crate) const REMOTE_ERROR: Self = Self(6);
    pub(crate) const IN_PROGRESS: Self = Self(7);

    /// A sentence, with its closing zero.
    pub(crate) fn describe(self) -> &'static str {
        match self.0 {
            0 => "no error\0",
            1 => "a call of the CUDA driver failed\0",
            2 => "a call of the system failed\0",
            3 => "internal error\0",
            4 => "an argument has a value that is not allowed\0",
            5 => "the call is not allowed here\0",
            6 => "another rank failed or did not come\0",
            7 => "the operation is in progress\0",
            8 => "the operation took too long\0",
            _ => "unknown result\0",
        }
    }
}

/// What went wrong, in a code and in words.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        let code = match error {
            DriverError::Missing(_) => Code::SYSTEM_ERROR,
            DriverError::Call { .. } => Code::CUDA_ERROR,
        };
        Self::new(code, error.to_string())
    }
}

/// What a call gives.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// A wrong argument.
pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T> {
    Err(Failure::new(Code::INVALID_ARGUMENT, message))
}
