//! Gives the library the name under which programs know it, so that one loaded by path serves those who ask by name.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnccl.so.2");
    println!("cargo:rerun-if-changed=build.rs");
}
