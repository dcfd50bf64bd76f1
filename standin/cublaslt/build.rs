//! Gives the library the name under which programs know it, so that one loaded by path serves those who ask by name.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcublasLt.so.12");
    println!("cargo:rerun-if-changed=build.rs");
}
