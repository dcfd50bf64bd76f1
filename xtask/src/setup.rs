//! Prepares the machine: a linker and LLVM 22.
//!
//! On Debian 12 what is missing is installed through apt-get, said beforehand, and never at the price of removing a
//! package. On any other system the packages are named and the work goes on without LLVM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the machine is prepared for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Demo,
    /// Also wants the tools that tests compare with.
    Test,
}

/// The outcome of the preparation.
pub(crate) struct Machine {
    /// LLVM 22 with its headers is there.
    pub(crate) has_llvm: bool,
    /// False when an installation that should have worked did not.
    pub(crate) is_complete: bool,
}

/// LLVM 22's `llvm-config` and version, if its headers are installed too.
pub(crate) fn llvm() -> Option<(PathBuf, String)> {
    let by_prefix =
        std::env::var_os("LLVM_SYS_221_PREFIX").map(|p| PathBuf::from(p).join("bin/llvm-config"));
    let names = ["llvm-config-22", "llvm-config22", "llvm-config"].map(PathBuf::from);
    by_prefix.into_iter().chain(names).find_map(|program| {
        let ask = |what: &str| {
            let output = Command::new(&program).arg(what).stderr(Stdio::null()).output().ok()?;
            output
                .status
                .success()
                .then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
        };
        let version = ask("--version").filter(|v| v.starts_with("22."))?;
        let has_headers = Path::new(&ask("--includedir")?).join("llvm-c/Core.h").exists();
        has_headers.then_some((program, version))
    })
}

/// What only tests need: MLIR as a program and as a library.
const ORACLES: &[(&str, &str)] = &[
    ("mlir-22-tools", "mlir-opt, which must accept what Piper prints"),
    ("libmlir-22-dev", "MLIR, for the feature 'mlir': a second road from kernels to machine code"),
    ("libpolly-22-dev", "which MLIR's libraries are linked with"),
    ("libzstd-dev", "the same"),
    ("zlib1g-dev", "the same"),
    ("libclang1-22", "with which MLIR's headers are read"),
    ("libclang-common-22-dev", "the same"),
    ("valgrind", "which watches the examples in C"),
];

/// Whether MLIR 22 can be linked: what the feature `mlir` needs.
pub(crate) fn has_mlir() -> bool {
    let prefix = std::env::var_os("MLIR_SYS_220_PREFIX")
        .map_or_else(|| PathBuf::from("/usr/lib/llvm-22"), PathBuf::from);
    let holds = |name: &str| prefix.join("lib").join(name).exists();
    holds("libMLIRCAPIIR.a") && holds("libPolly.a") && holds("libclang-22.so.1")
}

pub(crate) fn prepare(purpose: Purpose) -> Machine {
    let os = System::detect();
    let mut is_complete = true;
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    let has_linker = ["cc", "gcc", "clang"].iter().any(|name| is_program(name));
    if !has_linker {
        wanted.push(("gcc", "a linker for Rust programs and for generated code"));
    }
    if llvm().is_none() {
        wanted.push(("llvm-22-dev", "LLVM 22, which turns kernels into machine code"));
    }
    if wanted.is_empty() {
        println!("      a linker and LLVM 22 are present");
    } else if os == System::Debian12 {
        is_complete = install(&wanted) && llvm().is_some();
        if !is_complete {
            println!("      the installation did not succeed; see the messages above");
        }
    } else {
        for (package, reason) in &wanted {
            println!("      missing: {reason} (Debian's name for it: {package})");
        }
        println!("      to install it: {}", os.advice());
    }
    let lacks_oracles = !is_program("mlir-opt-22") || !has_mlir() || !is_program("valgrind");
    if purpose == Purpose::Test && os == System::Debian12 && lacks_oracles {
        println!(
            "      optional: what tests compare with; those tests are skipped without it, and say so"
        );
        if !install(ORACLES) {
            println!("      not installed");
        }
    }
    let found = llvm();
    match &found {
        Some((program, version)) => println!("      LLVM {version} ({})", program.display()),
        None => println!(
            "      continuing without the feature 'llvm': native kernels (piper-codegen) are neither built nor tested; \
             everything else is, and plans run by interpreter"
        ),
    }
    Machine { has_llvm: found.is_some(), is_complete }
}

fn is_program(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()))
}

/// Installs packages on Debian 12; true on success.
fn install(packages: &[(&str, &str)]) -> bool {
    let Some(prefix) = privilege() else {
        let names: Vec<&str> = packages.iter().map(|(name, _)| *name).collect();
        println!(
            "      neither root nor sudo: please run  apt-get install {}  as root",
            names.join(" ")
        );
        return false;
    };
    for (package, reason) in packages {
        println!("      installing {package}: {reason}");
    }
    let apt = |args: &[&str]| -> bool {
        let mut words: Vec<&str> = prefix.to_vec();
        words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        words.extend(args);
        println!("      $ {}", words.join(" "));
        let status = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).status();
        status.is_ok_and(|s| s.success())
    };
    // A stale or empty package list is the usual state of a fresh machine.
    if !apt(&["update", "-q"]) {
        println!("      apt-get update failed; trying with the package lists at hand");
    }
    let mut args = vec!["install", "-y", "-q", "--no-remove", "--no-install-recommends"];
    args.extend(packages.iter().map(|(name, _)| *name));
    if apt(&args) {
        return true;
    }
    println!(
        "      LLVM 22 is in Debian 12's security suite; /etc/apt/sources.list needs a line such as\n      \
         deb http://security.debian.org/debian-security bookworm-security main"
    );
    false
}

/// What goes before a command that needs root: nothing for root itself, `sudo` where it exists.
fn privilege() -> Option<&'static [&'static str]> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    is_program("sudo").then_some(&["sudo"])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Debian12,
    DebianOrUbuntu,
    Fedora,
    Arch,
    MacOs,
    Other,
}

impl System {
    fn detect() -> Self {
        if cfg!(target_os = "macos") {
            return Self::MacOs;
        }
        fs::read_to_string("/etc/os-release").map_or(Self::Other, |text| Self::of_os_release(&text))
    }

    fn of_os_release(text: &str) -> Self {
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.unwrap_or("").trim_matches(['"', '\'']).to_string()
        };
        let is_like = |name: &str| {
            value("ID") == name || value("ID_LIKE").split(' ').any(|like| like == name)
        };
        if value("ID") == "debian" && value("VERSION_ID") == "12" {
            Self::Debian12
        } else if is_like("debian") || is_like("ubuntu") {
            Self::DebianOrUbuntu
        } else if is_like("fedora") || is_like("rhel") {
            Self::Fedora
        } else if is_like("arch") {
            Self::Arch
        } else {
            Self::Other
        }
    }

    /// How to get a linker and LLVM 22 here.
    fn advice(self) -> &'static str {
        match self {
            Self::Debian12 => "apt-get install --no-remove gcc llvm-22-dev",
            Self::DebianOrUbuntu => {
                "sudo apt-get install gcc llvm-22-dev, with the repository of https://apt.llvm.org where your release has no LLVM 22"
            }
            Self::Fedora => {
                "sudo dnf install gcc llvm-devel (llvm22-devel where llvm-devel is another version)"
            }
            Self::Arch => "sudo pacman -S gcc llvm (version 22)",
            Self::MacOs => {
                "xcode-select --install; brew install llvm@22; export LLVM_SYS_221_PREFIX=\"$(brew --prefix llvm@22)\""
            }
            Self::Other => {
                "a C linker, and LLVM 22 with headers and llvm-config on PATH (or LLVM_SYS_221_PREFIX set)"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::System;

    #[test]
    fn systems_are_told_apart() {
        for (text, system) in [
            ("ID=debian\nVERSION_ID=\"12\"\n", System::Debian12),
            ("ID=debian\nVERSION_ID=\"13\"\n", System::DebianOrUbuntu),
            ("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n", System::DebianOrUbuntu),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", System::DebianOrUbuntu),
            ("ID=fedora\n", System::Fedora),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", System::Fedora),
            ("ID=arch\n", System::Arch),
            ("ID=nixos\n", System::Other),
            ("", System::Other),
        ] {
            assert_eq!(System::of_os_release(text), system, "{text:?}");
        }
    }
}
