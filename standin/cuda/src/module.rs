//! Modules: PTX text becomes kernels.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use piper_ptx::Module as Ptx;

use crate::abi::{Code, Handle, Result};
use crate::call::{calls, put};
use crate::context::usable;
use crate::device::{Device, put_text};
use crate::function;
use crate::handles::Table;
use crate::settings::settings;

/// A loaded module.
pub(crate) struct Module {
    device: Arc<Device>,
    ptx: Ptx,
}

static MODULES: Table<Module> = Table::new(4);

/// Options of `cuModuleLoadDataEx` by `CUjit_option`: where messages go, and how long they may be.
const ERROR_LOG: u32 = 5;
const ERROR_LOG_BYTES: u32 = 6;

/// Where the compiler's messages go.
#[derive(Default)]
struct Log {
    to: *mut c_char,
    bytes: usize,
    /// The option that gets the length.
    length: *mut *mut c_void,
}

impl Log {
    /// Reads the options.
    ///
    /// # Safety
    /// `names` and `values` have `count` entries.
    unsafe fn of(count: u32, names: *const u32, values: *mut *mut c_void) -> Self {
        let mut log = Self::default();
        if names.is_null() || values.is_null() {
            return log;
        }
        for at in 0..count as usize {
            // SAFETY: both have `count` entries.
            let (name, value) = unsafe { (names.add(at).read(), values.add(at)) };
            match name {
                // SAFETY: as above.
                ERROR_LOG => log.to = unsafe { value.read() }.cast(),
                ERROR_LOG_BYTES => {
                    // SAFETY: as above; the number stands in the place of a pointer.
                    log.bytes = unsafe { value.read() }.addr();
                    log.length = value;
                }
                _ => {}
            }
        }
        log
    }

    fn write(&self, text: &str) {
        if self.to.is_null() || self.bytes == 0 {
            return;
        }
        // SAFETY: the program gave the size of its buffer with it, and the place of the option for the length.
        unsafe {
            let _ = put_text(self.to, self.bytes, text);
            if !self.length.is_null() {
                let length = text.len().min(self.bytes - 1);
                self.length.write(std::ptr::without_provenance_mut(length));
            }
        }
    }
}

fn load(text: &[u8], log: &Log) -> Result<Handle> {
    let context = usable()?;
    let refuse = |code: Code, message: String| {
        log.write(&message);
        if settings().log || log.to.is_null() {
            eprintln!("standin: module: {message}");
        }
        Err(code)
    };
    if !text.is_ascii()
        || text.first().is_none_or(|b| !b.is_ascii_graphic() && !b.is_ascii_whitespace())
    {
        let message = "expected PTX text; the stand-in has no machine code".to_string();
        return refuse(Code::INVALID_IMAGE, message);
    }
    let text = String::from_utf8_lossy(text);
    let ptx = match Ptx::parse(&text) {
        Ok(ptx) => ptx,
        Err(error) => return refuse(Code::INVALID_PTX, format!("ptx:{error}")),
    };
    let chip = context.device.chip;
    if !chip.runs(ptx.target()) {
        let message = format!("PTX for {} does not run on {}", ptx.target(), chip.names[0]);
        return refuse(Code::NO_BINARY_FOR_GPU, message);
    }
    Ok(MODULES.insert(Arc::new(Module { device: context.device.clone(), ptx })))
}

/// The bytes of an image: text up to its zero, or what tells machine code.
///
/// # Safety
/// `image` is what the program loads.
unsafe fn image<'a>(image: *const c_void) -> Result<&'a [u8]> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: text ends with a zero. Machine code begins with bytes that are no text and has more than four, and an
    // early zero; reading stops there.
    Ok(unsafe { CStr::from_ptr(image.cast()) }.to_bytes())
}

/// A name that the program gives.
///
/// # Safety
/// `name` is null or ends with a zero.
unsafe fn text<'a>(name: *const c_char) -> Result<&'a CStr> {
    if name.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(name) })
}

calls! {
    /// Loads PTX text.
    fn cuModuleLoadData(to: *mut Handle, data: *const c_void) {
        // SAFETY: the caller's image, and its place for the result.
        unsafe { put(to, load(image(data)?, &Log::default())?) }
    }

    /// Loads PTX text; of the options, the buffer for errors is used.
    fn cuModuleLoadDataEx(
        to: *mut Handle,
        data: *const c_void,
        count: u32,
        names: *const u32,
        values: *mut *mut c_void,
    ) {
        // SAFETY: the caller's image and options, and its place for the result.
        unsafe { put(to, load(image(data)?, &Log::of(count, names, values))?) }
    }

    /// Machine code for several chips: there is none.
    fn cuModuleLoadFatBinary(_to: *mut Handle, _data: *const c_void) {
        Err(Code::NO_BINARY_FOR_GPU)
    }

    /// Loads a file of PTX text.
    fn cuModuleLoad(to: *mut Handle, path: *const c_char) {
        // SAFETY: the caller's name.
        let path = OsStr::from_bytes(unsafe { text(path)? }.to_bytes());
        let text = std::fs::read(path).map_err(|_| Code::FILE_NOT_FOUND)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, load(&text, &Log::default())?) }
    }

    /// Forgets a module; what was launched goes on.
    fn cuModuleUnload(module: Handle) {
        MODULES.remove(module).map(|_| ())
    }

    /// A kernel by name.
    fn cuModuleGetFunction(to: *mut Handle, module: Handle, name: *const c_char) {
        let module = MODULES.get(module)?;
        // SAFETY: the caller's name.
        let name = unsafe { text(name)? }.to_str().map_err(|_| Code::NOT_FOUND)?;
        if !module.ptx.kernels().any(|kernel| kernel == name) {
            return Err(Code::NOT_FOUND);
        }
        let kernel = module.ptx.kernel(name).map_err(|error| {
            eprintln!("standin: kernel {name}: ptx:{error}");
            Code::INVALID_PTX
        })?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, function::insert(kernel, module.device.clone())) }
    }

    /// How many kernels there are.
    fn cuModuleGetFunctionCount(to: *mut u32, module: Handle) {
        let count = MODULES.get(module)?.ptx.kernels().count();
        // SAFETY: the caller's place for the result.
        unsafe { put(to, count as u32) }
    }

    /// Address and size of a variable.
    fn cuModuleGetGlobal_v2(to: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char) {
        let module = MODULES.get(module)?;
        // SAFETY: the caller's name.
        let name = unsafe { text(name)? }.to_str().map_err(|_| Code::NOT_FOUND)?;
        let address = module.device.machine().symbol(&module.ptx, name).ok_or(Code::NOT_FOUND)?;
        let variable = module.ptx.variables().iter().find(|v| v.name == name);
        let size = variable.map_or(0, |v| v.bytes);
        if !to.is_null() {
            // SAFETY: the caller's place for the result.
            unsafe { put(to, address.0)? };
        }
        if !bytes.is_null() {
            // SAFETY: the caller's place for the result.
            unsafe { put(bytes, size as usize)? };
        }
        Ok(())
    }
}
