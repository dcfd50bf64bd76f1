//! Code that was made before, kept in a folder of the user under a hash of everything it depends on.
//!
//! An entry is a file named after its [`Key`]: kernels, target, vectors, optimisation, and which code generator made it. So
//! nothing is ever out of date; what is no longer asked for is the first to be removed when the folder is full. An entry
//! begins with a checksum of what follows. One that was cut short or changed is removed and made again. It is written under
//! another name and renamed, so that programs which share the folder see whole entries only. A folder that cannot be used costs
//! time, not the run: [`Cache::remark`] says so once.
//!
//! The checksum finds accidents, not malice: who may write to the folder decides what code runs, as with any program of the
//! user's. The folder is made for its owner alone.

use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Names the folder, if it is set and not empty.
pub const CACHE_VARIABLE: &str = "PIPER_CACHE_DIR";

/// Bytes that all entries together may take.
const MOST_BYTES: u64 = 512 << 20;
/// What an entry begins with; another layout begins otherwise.
const MAGIC: &[u8; 8] = b"PIPERC01";
const HASH_BYTES: usize = 32;
/// How entries' names end.
const SUFFIX: &str = ".code";
/// How names of files begin that are being written.
const UNFINISHED: &str = "unfinished-";
/// A file that was begun so long ago will not be finished.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// What an entry depends on, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(blake3::Hash);

impl Key {
    /// The key of `made` (what is made: the form, and whether it is linked) out of `request`.
    pub(crate) fn of(made: &str, request: &impl Serialize) -> Self {
        let request = serde_json::to_vec(request).expect("a request holds only plain data");
        let maker = format!(
            "piper {} {} llvm {} {} {}",
            env!("CARGO_PKG_VERSION"),
            env!("PIPER_CODEGEN_SOURCES"),
            llvm_version(),
            std::env::consts::ARCH,
            std::env::consts::OS
        );
        let mut hasher = blake3::Hasher::new();
        for part in [maker.as_bytes(), made.as_bytes(), &request] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize())
    }

    fn file_name(self) -> String {
        format!("{}{SUFFIX}", self.0.to_hex())
    }
}

/// Of the library that is loaded, which is not always the one that was built with.
fn llvm_version() -> String {
    #[cfg(feature = "llvm")]
    {
        let (major, minor, patch) = inkwell::support::get_llvm_version();
        format!("{major}.{minor}.{patch}")
    }
    #[cfg(not(feature = "llvm"))]
    String::new()
}

/// Where code is kept between runs, if anywhere. Clones are one cache.
#[derive(Clone, Debug, Default)]
pub struct Cache(Option<Arc<Folder>>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    most_bytes: u64,
    trouble: Mutex<Trouble>,
}

#[derive(Debug, Default)]
enum Trouble {
    #[default]
    None,
    New(String),
    Told,
}

impl Cache {
    /// Nothing is kept.
    pub fn none() -> Self {
        Self::default()
    }

    /// The user's: `$PIPER_CACHE_DIR`, else `piper` in `$XDG_CACHE_HOME`, else in `~/.cache`. None, where no home is known.
    pub fn of_user() -> Self {
        let folder = |name: &str| {
            let path = std::env::var_os(name).filter(|path| !path.is_empty())?;
            Some(PathBuf::from(path))
        };
        // As XDG has it, a relative path there is to be ignored.
        let absolute = |name: &str| folder(name).filter(|path| path.is_absolute());
        folder(CACHE_VARIABLE)
            .or_else(|| Some(absolute("XDG_CACHE_HOME")?.join("piper")))
            .or_else(|| Some(absolute("HOME")?.join(".cache/piper")))
            .map_or_else(Self::none, Self::at)
    }

    /// A folder, made when something is first kept.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self::bounded(folder, MOST_BYTES)
    }

    /// A folder of at most `most_bytes`; one entry is kept even if it is larger.
    pub fn bounded(folder: impl Into<PathBuf>, most_bytes: u64) -> Self {
        let trouble = Mutex::default();
        Self(Some(Arc::new(Folder { path: folder.into(), most_bytes, trouble })))
    }

    /// The folder, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.0.as_deref().map(|folder| folder.path.as_path())
    }

    /// What went wrong with the folder since it was last asked; a trouble is told once, however often it is met.
    pub fn remark(&self) -> Option<String> {
        let mut trouble = self.0.as_ref()?.trouble();
        match std::mem::replace(&mut *trouble, Trouble::Told) {
            Trouble::New(remark) => Some(remark),
            Trouble::Told => None,
            Trouble::None => {
                *trouble = Trouble::None;
                None
            }
        }
    }

    /// What is kept under `key`, whole.
    pub(crate) fn get(&self, key: Key) -> Option<Vec<u8>> {
        self.0.as_ref()?.get(key)
    }

    /// Keeps `code` under `key`, if that is possible.
    pub(crate) fn put(&self, key: Key, code: &[u8]) {
        let Some(folder) = &self.0 else { return };
        match folder.put(key, code) {
            Ok(()) => folder.shrink(&key.file_name()),
            Err(error) => folder.complain(format!(
                "code is not kept for the next time: cannot write to '{}': {error}",
                folder.path.display()
            )),
        }
    }
}

impl Folder {
    fn trouble(&self) -> std::sync::MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complain(&self, remark: String) {
        let mut trouble = self.trouble();
        if matches!(*trouble, Trouble::None) {
            *trouble = Trouble::New(remark);
        }
    }

    fn get(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.path.join(key.file_name());
        let entry = std::fs::read(&path).ok()?;
        match payload(&entry) {
            Some(code) => {
                // The time of the last use decides what is removed first. Not being able to say so is no harm.
                let _ = std::fs::File::options()
                    .append(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(SystemTime::now()));
                Some(code.to_vec())
            }
            None => {
                let name = path.display();
                self.complain(format!("'{name}' was damaged; its code is made again"));
                let _ = std::fs::remove_file(&path);
                None
            }
        }
    }

    fn put(&self, key: Key, code: &[u8]) -> std::io::Result<()> {
        make_private(&self.path)?;
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.path)?;
        file.write_all(MAGIC)?;
        file.write_all(blake3::hash(code).as_bytes())?;
        file.write_all(code)?;
        // No flush to the disk: after a crash of the system an entry may be damaged, which the checksum finds.
        file.persist(self.path.join(key.file_name())).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes the entries that were not used for longest until the rest fits, and what nobody will finish. Another program may
    /// do the same at the same time; a file that is gone already is as good.
    fn shrink(&self, newest: &str) {
        let Ok(files) = std::fs::read_dir(&self.path) else { return };
        let (mut entries, mut total) = (Vec::new(), 0);
        for file in files.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            let Ok(facts) = file.metadata() else { continue };
            let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.starts_with(UNFINISHED) {
                if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                    let _ = std::fs::remove_file(file.path());
                }
            } else if name.ends_with(SUFFIX) {
                total += facts.len();
                if name != newest {
                    entries.push((used, name, facts.len()));
                }
            }
        }
        entries.sort();
        for (_, name, bytes) in entries {
            if total <= self.most_bytes {
                return;
            }
            if std::fs::remove_file(self.path.join(name)).is_ok() {
                total -= bytes;
            }
        }
    }
}

/// What follows the checksum of an entry, if it is what was written.
fn payload(entry: &[u8]) -> Option<&[u8]> {
    let (checksum, code) = entry.strip_prefix(MAGIC)?.split_at_checked(HASH_BYTES)?;
    (blake3::hash(code).as_bytes() == checksum).then_some(code)
}

/// Makes a folder that its owner alone may use.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(of: &str) -> Key {
        Key::of("test", &of)
    }

    fn set_age(cache: &Cache, key: Key, seconds: u64) {
        let path = cache.folder().unwrap().join(key.file_name());
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn what_is_put_is_got_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("deep/er"));
        assert_eq!(cache.get(key("a")), None);
        cache.put(key("a"), b"code");
        assert_eq!(cache.get(key("a")).as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.get(key("b")), None);
        assert_ne!(Key::of("test", &"a"), Key::of("other", &"a"));
        assert_eq!(cache.remark(), None);
        // Nothing but the entry is left.
        assert_eq!(std::fs::read_dir(cache.folder().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_entry_is_removed_and_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let path = folder.path().join(key("a").file_name());
        let damages: [fn(&mut Vec<u8>); 4] = [
            |entry| *entry.last_mut().unwrap() ^= 1,
            |entry| entry.truncate(entry.len() - 1),
            |entry| entry.truncate(10),
            |entry| entry.clear(),
        ];
        for (at, damage) in damages.into_iter().enumerate() {
            cache.put(key("a"), b"code");
            let mut entry = std::fs::read(&path).unwrap();
            damage(&mut entry);
            std::fs::write(&path, entry).unwrap();
            assert_eq!(cache.get(key("a")), None, "damage {at}");
            assert!(!path.exists());
            assert_eq!(cache.remark().is_some(), at == 0, "damage {at}");
        }
    }

    #[test]
    fn the_entries_not_used_for_longest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        // Room for two entries of 60 bytes with their heads.
        let cache = Cache::bounded(folder.path(), 220);
        std::fs::write(folder.path().join("not ours"), [0; 999]).unwrap();
        for (name, age) in [("a", 300), ("b", 200)] {
            cache.put(key(name), &[7; 60]);
            set_age(&cache, key(name), age);
        }
        assert!(cache.get(key("a")).is_some()); // used just now
        cache.put(key("c"), &[7; 60]);
        assert!(cache.get(key("a")).is_some() && cache.get(key("c")).is_some());
        assert!(cache.get(key("b")).is_none());
        // One that is too large by itself is kept, alone.
        cache.put(key("d"), &[7; 999]);
        assert!(cache.get(key("d")).is_some() && cache.get(key("c")).is_none());
        assert!(folder.path().join("not ours").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_remarked_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "no folder").unwrap();
        let cache = Cache::at(file.join("below"));
        cache.put(key("a"), b"code");
        let remark = cache.remark().expect("a remark");
        assert!(remark.contains("not kept") && remark.contains("below"), "{remark}");
        cache.put(key("a"), b"code");
        assert_eq!(cache.remark(), None);
        assert_eq!(cache.get(key("a")), None);
        assert_eq!(Cache::none().remark(), None);
    }
}
