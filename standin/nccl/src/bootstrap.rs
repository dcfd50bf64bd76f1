//! How ranks find each other: the process that makes the unique id waits for all of them at a port that the id names, and
//! tells each where the others are.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::abi::{Code, Failure, Result, UniqueId, refuse};
use crate::network::{Process, own, unique};
use crate::settings::settings;

/// First bytes of an id.
const MARK: [u8; 8] = *b"pipernid";
/// The most ranks of a communicator.
pub(crate) const MOST_RANKS: usize = 4096;

/// What a rank says when it comes: the id's number, itself, how many it expects, and where it takes messages.
struct Arrival {
    nonce: u128,
    rank: u32,
    count: u32,
    process: Process,
}

/// A new id; a thread waits for its ranks.
pub(crate) fn new_id() -> Result<UniqueId> {
    let failed = |error: io::Error| {
        Failure::new(
            Code::SYSTEM_ERROR,
            format!("cannot listen on the loopback interface: {error}"),
        )
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let nonce = u128::from(unique()) << 64 | u128::from(unique());
    std::thread::Builder::new()
        .name("standin rendezvous".into())
        .spawn(move || gather(&listener, nonce))
        .map_err(failed)?;
    let mut bytes = [0; 128];
    bytes[..8].copy_from_slice(&MARK);
    bytes[8..10].copy_from_slice(&port.to_le_bytes());
    bytes[16..32].copy_from_slice(&nonce.to_le_bytes());
    Ok(UniqueId(bytes))
}

/// The port and the number of an id.
fn parts(id: &UniqueId) -> Result<(u16, u128)> {
    let bytes = &id.0;
    if bytes[..8] != MARK {
        return refuse("the unique id is not one of ncclGetUniqueId");
    }
    let nonce = u128::from_le_bytes(bytes[16..32].try_into().unwrap_or_default());
    Ok((u16::from_le_bytes([bytes[8], bytes[9]]), nonce))
}

/// Waits for all ranks, then tells each where all are.
fn gather(listener: &TcpListener, nonce: u128) {
    let mut come: Vec<(Arrival, TcpStream)> = Vec::new();
    // Nobody may come for a long time after the id was made; time counts from the first arrival.
    let mut deadline = None;
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Ok(arrival) = read_arrival(&stream)
                    && arrival.nonce == nonce
                {
                    deadline.get_or_insert_with(|| Instant::now() + settings().timeout);
                    come.push((arrival, stream));
                }
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
        let Some((first, _)) = come.first() else { continue };
        let count = first.count;
        let fault = fault(&come, count);
        if fault.is_none()
            && come.len() < count as usize
            && deadline.is_none_or(|d| Instant::now() < d)
        {
            continue;
        }
        let missing: Vec<String> = (0..count)
            .filter(|rank| !come.iter().any(|(a, _)| a.rank == *rank))
            .map(|rank| rank.to_string())
            .collect();
        let fault = fault.or((!missing.is_empty())
            .then(|| format!("of {count} ranks, {} did not come in time", missing.join(", "))));
        come.sort_by_key(|(arrival, _)| arrival.rank);
        let mut answer = Vec::new();
        match fault {
            Some(text) => {
                answer.push(1);
                answer.extend((text.len() as u32).to_le_bytes());
                answer.extend(text.as_bytes());
            }
            None => {
                answer.push(0);
                answer.extend(count.to_le_bytes());
                for (arrival, _) in &come {
                    answer.extend(arrival.process.token.to_le_bytes());
                    answer.extend(arrival.process.port.to_le_bytes());
                }
            }
        }
        for (_, stream) in &mut come {
            // Whoever is gone will be missed by the others.
            let _ = stream.write_all(&answer);
        }
        return;
    }
}

/// What is wrong with the ranks that have come.
fn fault(come: &[(Arrival, TcpStream)], count: u32) -> Option<String> {
    let (last, _) = come.last()?;
    if last.count != count {
        let (rank, other) = (last.rank, last.count);
        return Some(format!("rank {rank} expects {other} ranks, rank {} {count}", come[0].0.rank));
    }
    let same = come.iter().filter(|(a, _)| a.rank == last.rank).count();
    (same > 1).then(|| format!("rank {} came twice", last.rank))
}

fn read_arrival(mut stream: &TcpStream) -> io::Result<Arrival> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut bytes = [0; 34];
    stream.read_exact(&mut bytes)?;
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    Ok(Arrival {
        nonce: u128::from_le_bytes(bytes[..16].try_into().unwrap_or_default()),
        rank: half(16),
        count: half(20),
        process: Process {
            token: u64::from_le_bytes(bytes[24..32].try_into().unwrap_or_default()),
            port: u16::from_le_bytes([bytes[32], bytes[33]]),
        },
    })
}

/// Comes as `rank` of `count`; gives the number of the communicator and where each rank is.
pub(crate) fn meet(id: &UniqueId, rank: u32, count: u32) -> Result<(u128, Vec<Process>)> {
    let (port, nonce) = parts(id)?;
    let own = own()?;
    let failed = |error: io::Error| {
        let message = format!("rank {rank} of {count}: the rendezvous failed: {error}");
        Failure::new(Code::SYSTEM_ERROR, message)
    };
    let mut bytes = Vec::with_capacity(34);
    bytes.extend(nonce.to_le_bytes());
    bytes.extend(rank.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(own.token.to_le_bytes());
    bytes.extend(own.port.to_le_bytes());
    let talk = || -> io::Result<std::result::Result<Vec<Process>, String>> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.write_all(&bytes)?;
        // The other side has the same limit and answers then.
        stream.set_read_timeout(Some(settings().timeout + Duration::from_secs(10)))?;
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let number = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if head[0] != 0 {
            let mut text = vec![0; number.min(4096)];
            stream.read_exact(&mut text)?;
            return Ok(Err(String::from_utf8_lossy(&text).into_owned()));
        }
        let mut places = Vec::new();
        for _ in 0..number.min(MOST_RANKS) {
            let mut place = [0; 10];
            stream.read_exact(&mut place)?;
            places.push(Process {
                token: u64::from_le_bytes(place[..8].try_into().unwrap_or_default()),
                port: u16::from_le_bytes([place[8], place[9]]),
            });
        }
        Ok(Ok(places))
    };
    let places = talk().map_err(failed)?.map_err(|text| {
        Failure::new(Code::REMOTE_ERROR, format!("rank {rank} of {count}: {text}"))
    })?;
    Ok((nonce, places))
}
