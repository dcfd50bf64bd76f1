//! Shared libraries whose functions are looked up by name once, all of them, when they are loaded: a missing library or a
//! missing function is an error then, and never a panic later.
//!
//! Results of calls are plain numbers here. Newer libraries return codes that an enumeration of older headers does not have.

#![allow(unsafe_code)]

/// Declares a table of functions of a C library, with a loader that looks for the library under several names.
///
/// Functions after `optional` may be missing; their fields are `Option`s.
macro_rules! functions {
    (
        $(#[$doc:meta])* $table:ident;
        $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)?;)*
        optional;
        $(fn $extra:ident($($more:ident: $more_ty:ty),* $(,)?) $(-> $more_result:ty)?;)*
    ) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($ty),*) $(-> $result)?,)*
            $(pub(crate) $extra: Option<unsafe extern "C" fn($($more_ty),*) $(-> $more_result)?>,)*
            /// Keeps the functions valid.
            _library: libloading::Library,
        }

        impl $table {
            /// Loads the first library of these names that the system finds.
            pub(crate) fn load(names: &[&str]) -> Result<Self, $crate::library::Missing> {
                let library = $crate::library::open(names)?;
                Ok(Self {
                    $($name: {
                        // SAFETY: the signature is that of the library's C header, in all versions that have this name.
                        let found = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                        *found.map_err(|_| $crate::library::Missing::Function(stringify!($name)))?
                    },)*
                    $($extra: {
                        // SAFETY: as above.
                        let found = unsafe { library.get(concat!(stringify!($extra), "\0").as_bytes()) };
                        found.ok().map(|function| *function)
                    },)*
                    _library: library,
                })
            }
        }
    };
}
pub(crate) use functions;

/// What a library lacks.
#[derive(Debug)]
pub(crate) enum Missing {
    /// It is not there, or it cannot be loaded: what the system's loader said of each name.
    Library(String),
    /// A function.
    Function(&'static str),
}

/// The first library that can be loaded.
pub(crate) fn open(names: &[&str]) -> Result<libloading::Library, Missing> {
    let mut said = Vec::new();
    for name in names {
        // SAFETY: loading runs initialisers of a library that the user's system calls by NVIDIA's names.
        match unsafe { libloading::Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => said.push(error.to_string()),
        }
    }
    said.dedup();
    Err(Missing::Library(said.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    functions! {
        /// The C library, which every system has.
        Process;
        fn getpid() -> i32;
        optional;
        fn piper_has_no_such_function(number: i32) -> i32;
    }

    functions! {
        /// One that lacks something.
        #[derive(Debug)]
        #[allow(dead_code)]
        Lacking;
        fn piper_has_no_such_function(number: i32) -> i32;
        optional;
    }

    #[test]
    fn what_is_there_is_called_and_what_is_not_is_named() {
        let process = Process::load(&["libpiper-none.so", "libc.so.6"]).map_err(|_| ()).unwrap();
        // SAFETY: getpid takes nothing and cannot fail.
        let id = unsafe { (process.getpid)() };
        assert_eq!(id, std::process::id() as i32);
        assert!(process.piper_has_no_such_function.is_none());
        let error = Lacking::load(&["libc.so.6"]).unwrap_err();
        assert!(matches!(error, Missing::Function("piper_has_no_such_function")));
        let Err(Missing::Library(said)) = open(&["libpiper-none.so.1", "libpiper-none.so"]) else {
            panic!("there is no such library")
        };
        assert!(
            said.contains("libpiper-none.so.1") && said.contains("libpiper-none.so:"),
            "{said}"
        );
    }
}
