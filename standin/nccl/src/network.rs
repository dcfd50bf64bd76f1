//! Messages between processes of one machine, over the loopback interface. Within a process they go straight into the
//! inbox.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::abi::{Code, Failure, Result};
use crate::inbox::{Message, Purpose, Route, deliver, lost};

/// A process that has ranks, and the port at which it takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) token: u64,
    pub(crate) port: u16,
}

/// First bytes of a connection, so that a stranger's is not taken for one.
const HELLO: [u8; 8] = *b"piperncl";
/// The longest message; more is a broken one.
const LONGEST: u64 = 1 << 38;

type Connection = Arc<Mutex<TcpStream>>;

static CONNECTIONS: Mutex<Option<HashMap<u64, Connection>>> = Mutex::new(None);

/// A number that no other call on this machine gives: time, process, and a counter by way of an address.
pub(crate) fn unique() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    RandomState::new().hash_one((time, std::process::id()))
}

/// This process, which listens from the first call on.
pub(crate) fn own() -> Result<Process> {
    static OWN: OnceLock<std::result::Result<Process, String>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let listen = || -> io::Result<Process> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = listener.local_addr()?.port();
            std::thread::Builder::new().name("standin accept".into()).spawn(move || {
                for stream in listener.incoming().flatten() {
                    let _ = std::thread::Builder::new()
                        .name("standin receive".into())
                        .spawn(move || receive(stream));
                }
            })?;
            Ok(Process { token: unique(), port })
        };
        listen().map_err(|error| format!("cannot listen on the loopback interface: {error}"))
    });
    own.clone().map_err(|message| Failure::new(Code::SYSTEM_ERROR, message))
}

fn receive(mut stream: TcpStream) {
    let mut hello = [0; 16];
    if stream.read_exact(&mut hello).is_err() || hello[..8] != HELLO {
        return;
    }
    let token = u64::from_le_bytes(hello[8..].try_into().unwrap_or_default());
    while let Ok((route, message)) = read_message(&mut stream) {
        deliver(route, message);
    }
    lost(token);
}

/// A route as bytes, then the lengths of note and data, then both.
fn read_message(stream: &mut TcpStream) -> io::Result<(Route, Message)> {
    let mut head = [0; 41];
    stream.read_exact(&mut head)?;
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "a broken message");
    let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
    let half = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap_or_default());
    let route = Route {
        communicator: u128::from(word(0)) | u128::from(word(8)) << 64,
        to: half(16),
        from: half(20),
        purpose: Purpose::of(head[40]).ok_or_else(broken)?,
    };
    let (note, data) = (word(24), word(32));
    if note > 4096 || data > LONGEST {
        return Err(broken());
    }
    let mut message = Message { note: vec![0; note as usize], data: vec![0; data as usize] };
    stream.read_exact(&mut message.note)?;
    stream.read_exact(&mut message.data)?;
    Ok((route, message))
}

fn connect(process: Process) -> io::Result<Connection> {
    let mut connections = CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let connections = connections.get_or_insert_default();
    if let Some(known) = connections.get(&process.token) {
        return Ok(known.clone());
    }
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, process.port))?;
    stream.set_nodelay(true)?;
    let own = own().map_err(|failure| io::Error::other(failure.message))?;
    stream.write_all(&HELLO)?;
    stream.write_all(&own.token.to_le_bytes())?;
    let stream = Arc::new(Mutex::new(stream));
    connections.insert(process.token, stream.clone());
    Ok(stream)
}

/// Sends a message to a rank in `process`.
///
/// # Errors
/// Its process cannot be reached.
pub(crate) fn send(process: Process, route: Route, message: Message) -> io::Result<()> {
    if own().is_ok_and(|own| own.token == process.token) {
        deliver(route, message);
        return Ok(());
    }
    let mut head = Vec::with_capacity(41 + message.note.len());
    head.extend(route.communicator.to_le_bytes());
    head.extend(route.to.to_le_bytes());
    head.extend(route.from.to_le_bytes());
    head.extend((message.note.len() as u64).to_le_bytes());
    head.extend((message.data.len() as u64).to_le_bytes());
    head.push(route.purpose as u8);
    head.extend(&message.note);
    let connection = connect(process)?;
    let mut stream = connection.lock().unwrap_or_else(PoisonError::into_inner);
    stream.write_all(&head)?;
    stream.write_all(&message.data)
}
