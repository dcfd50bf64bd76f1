//! Processes that run one plan together: which of them this is, and a star of TCP connections to rank 0, over which they
//! exchange the names of communicators, and what each knows of a step's outputs. What tensors say goes through NCCL.
//!
//! A process that ends closes its connection, which the others notice: nobody waits for a rank that is gone.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::error::CudaError;

/// Which of the processes of a run this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Its number.
    pub rank: usize,
    /// How many there are.
    pub size: usize,
    /// Its number among those on this machine.
    pub local_rank: usize,
    /// Where rank 0 listens, as `host:port`.
    pub address: String,
}

impl Default for World {
    fn default() -> Self {
        Self { rank: 0, size: 1, local_rank: 0, address: String::new() }
    }
}

/// Variables of rank, number of processes, and rank on the machine, as launchers set them.
const LAUNCHERS: [[&str; 3]; 4] = [
    ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
    ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"],
    ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"],
];

impl World {
    /// What the environment says: torchrun's variables (`RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `MASTER_ADDR`, `MASTER_PORT`), those of
    /// Open MPI, MPICH or Slurm; without any, one process.
    ///
    /// # Errors
    /// A variable that is no number, a rank that is not below the size.
    pub fn of_environment() -> Result<Self, CudaError> {
        Self::of(&|name| std::env::var(name).ok()).map_err(CudaError::Rendezvous)
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => match text.trim().parse::<usize>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(format!("{name} is '{text}', which is not a number")),
            },
        };
        for [rank_name, size_name, local_name] in LAUNCHERS {
            let (Some(rank), Some(size)) = (number(rank_name)?, number(size_name)?) else {
                continue;
            };
            if rank >= size {
                return Err(format!(
                    "{rank_name} is {rank}, but {size_name} is {size}: ranks count from 0"
                ));
            }
            let local_rank = number(local_name)?.unwrap_or(rank);
            let host = variable("MASTER_ADDR");
            if host.is_none() && local_rank != rank {
                return Err(format!(
                    "rank {rank} is not the first of its machine, so there are several: MASTER_ADDR must name that of rank 0"
                ));
            }
            let host = host.unwrap_or_else(|| "127.0.0.1".to_owned());
            let mut port = number("MASTER_PORT")?.unwrap_or(29_400);
            // There torchrun itself listens.
            if variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|v| v == "True") {
                port += 1;
            }
            if port == 0 || port > 65_535 {
                return Err(format!("MASTER_PORT is {port}, which is no port"));
            }
            return Ok(Self { rank, size, local_rank, address: format!("{host}:{port}") });
        }
        Ok(Self::default())
    }
}

/// First bytes of every connection; the last is the protocol's version.
const MAGIC: [u8; 8] = *b"PIPERRV\x02";
/// Longest message, which nobody who speaks this protocol exceeds.
const LONGEST: u64 = 1 << 34;

/// What has to be the same for all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Fingerprint of the plan.
    pub(crate) plan: u64,
    /// Steps are recorded: in the end all give what they have.
    pub(crate) is_traced: bool,
}

/// The connections of a process.
pub(crate) struct Link {
    pub(crate) world: World,
    /// Of rank 0: one to each other rank, in order. Of the others: the one to rank 0.
    peers: Vec<TcpStream>,
}

impl Link {
    /// Connects all processes of a world.
    ///
    /// # Errors
    /// Processes that do not come within `timeout`, or that run something else.
    pub(crate) fn connect(world: &World, run: Run, timeout: Duration) -> Result<Self, CudaError> {
        let peers = match (world.size, world.rank) {
            (1, _) => Ok(Vec::new()),
            (_, 0) => accept(world, run, timeout),
            _ => call(world, run, timeout).map(|peer| vec![peer]),
        };
        Ok(Self { world: world.clone(), peers: peers.map_err(CudaError::Rendezvous)? })
    }

    /// What every process gives, by rank.
    ///
    /// # Errors
    /// A process that is gone.
    pub(crate) fn all_gather(&mut self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, CudaError> {
        self.exchange(mine).map_err(CudaError::Rendezvous)
    }

    fn exchange(&mut self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, String> {
        let is_root = self.world.rank == 0;
        if !is_root {
            let root = &mut self.peers[0];
            let sent = send(root, &mine);
            let received =
                sent.and_then(|()| (0..self.world.size).map(|_| receive(root)).collect());
            return received.map_err(|error| gone(0, &error));
        }
        let mut all = vec![mine];
        for (at, peer) in self.peers.iter_mut().enumerate() {
            all.push(receive(peer).map_err(|error| gone(at + 1, &error))?);
        }
        for (at, peer) in self.peers.iter_mut().enumerate() {
            all.iter()
                .try_for_each(|message| send(peer, message))
                .map_err(|error| gone(at + 1, &error))?;
        }
        Ok(all)
    }

    /// A process that has ended, if one has; does not wait.
    pub(crate) fn lost(&self) -> Option<String> {
        let root = self.world.rank == 0;
        self.peers.iter().enumerate().find_map(|(at, peer)| {
            let mut byte = [0];
            peer.set_nonblocking(true).ok()?;
            let seen = peer.peek(&mut byte);
            peer.set_nonblocking(false).ok()?;
            let rank = if root { at + 1 } else { 0 };
            match seen {
                Ok(0) => Some(gone(rank, &ErrorKind::UnexpectedEof.into())),
                Err(error) if error.kind() != ErrorKind::WouldBlock => Some(gone(rank, &error)),
                _ => None,
            }
        })
    }
}

fn gone(rank: usize, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            format!("the process of rank {rank} has ended; see what it said")
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("the process of rank {rank} does not answer")
        }
        _ => format!("the connection to the process of rank {rank} failed: {error}"),
    }
}

fn accept(world: &World, run: Run, timeout: Duration) -> Result<Vec<TcpStream>, String> {
    let cannot = |error: std::io::Error| {
        format!("rank 0 cannot listen at {} (MASTER_ADDR, MASTER_PORT): {error}", world.address)
    };
    // Rank 0 may be known by a name that is not one of its own addresses: it listens on all.
    let port = world.address.rsplit_once(':').map_or("", |(_, port)| port);
    let listener = TcpListener::bind(format!("0.0.0.0:{port}")).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let start = Instant::now();
    let mut peers: Vec<Option<TcpStream>> = (1..world.size).map(|_| None).collect();
    while peers.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((mut peer, from)) => {
                // Whoever speaks something else is not of this run.
                if let Ok(rank) = greet(&mut peer, world, run, timeout) {
                    let slot = &mut peers[rank? - 1];
                    if slot.is_some() {
                        return Err(format!(
                            "two processes have one rank; the second is at {from}"
                        ));
                    }
                    *slot = Some(peer);
                }
            }
            Err(_) if start.elapsed() < timeout => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => {
                let missing: Vec<String> = (1..world.size)
                    .filter(|rank| peers[rank - 1].is_none())
                    .map(|rank| rank.to_string())
                    .collect();
                return Err(format!(
                    "no sign of rank {} after {timeout:?}; rank 0 listens at {}",
                    missing.join(", "),
                    world.address
                ));
            }
        }
    }
    Ok(peers.into_iter().flatten().collect())
}

/// The rank of a new connection; the outer error is that it is not ours, the inner that it does not fit.
fn greet(
    peer: &mut TcpStream,
    world: &World,
    run: Run,
    timeout: Duration,
) -> std::io::Result<Result<usize, String>> {
    prepare(peer, timeout)?;
    let mut hello = [0; 40];
    peer.read_exact(&mut hello)?;
    let field = |at: usize| u64::from_le_bytes(hello[at..at + 8].try_into().expect("8 bytes"));
    if hello[..8] != MAGIC {
        return Err(ErrorKind::InvalidData.into());
    }
    let (rank, size, plan, is_traced) = (field(8), field(16), field(24), field(32) != 0);
    let verdict = if size != world.size as u64 || rank == 0 || rank >= size {
        Err(format!("rank {rank} counts {size} processes, rank 0 counts {}", world.size))
    } else if plan != run.plan {
        Err(format!("rank {rank} runs another plan than rank 0"))
    } else if is_traced != run.is_traced {
        let (with, without) = if is_traced { (rank, 0) } else { (0, rank) };
        Err(format!(
            "rank {with} records a trace, rank {without} does not: give --trace to all processes or to none"
        ))
    } else {
        Ok(rank as usize)
    };
    send(peer, verdict.as_ref().err().map_or("", |why| why).as_bytes())?;
    Ok(verdict)
}

fn call(world: &World, run: Run, timeout: Duration) -> Result<TcpStream, String> {
    let start = Instant::now();
    let cannot = |error: std::io::Error| {
        format!("rank {} cannot reach rank 0 at {}: {error}", world.rank, world.address)
    };
    let mut peer = loop {
        match TcpStream::connect(&world.address) {
            Ok(peer) => break peer,
            Err(_) if start.elapsed() < timeout => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(cannot(error)),
        }
    };
    prepare(&peer, timeout).map_err(cannot)?;
    let mut hello = MAGIC.to_vec();
    for number in [world.rank as u64, world.size as u64, run.plan, u64::from(run.is_traced)] {
        hello.extend(number.to_le_bytes());
    }
    peer.write_all(&hello).map_err(cannot)?;
    match receive(&mut peer) {
        Ok(why) if why.is_empty() => Ok(peer),
        Ok(why) => Err(String::from_utf8_lossy(&why).into_owned()),
        Err(error) => Err(gone(0, &error)),
    }
}

fn prepare(peer: &TcpStream, timeout: Duration) -> std::io::Result<()> {
    peer.set_nonblocking(false)?;
    peer.set_nodelay(true)?;
    peer.set_read_timeout(Some(timeout))?;
    peer.set_write_timeout(Some(timeout))
}

fn send(peer: &mut TcpStream, message: &[u8]) -> std::io::Result<()> {
    let mut framed = Vec::with_capacity(message.len() + 8);
    framed.extend((message.len() as u64).to_le_bytes());
    framed.extend(message);
    peer.write_all(&framed)
}

fn receive(peer: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 8];
    peer.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; length as usize];
    peer.read_exact(&mut message)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);
    const RUN: Run = Run { plan: 7, is_traced: false };

    fn world(variables: &[(&str, &str)]) -> Result<World, String> {
        World::of(&|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn worlds(size: usize) -> Vec<World> {
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        (0..size)
            .map(|rank| World { rank, size, local_rank: rank, address: address.clone() })
            .collect()
    }

    #[test]
    fn launchers_say_who_is_who() {
        assert_eq!(world(&[]).unwrap(), World::default());
        let torchrun = [
            ("RANK", "5"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "1234"),
        ];
        let expected = World { rank: 5, size: 8, local_rank: 1, address: "node0:1234".to_owned() };
        assert_eq!(world(&torchrun).unwrap(), expected);
        let mut elastic = torchrun.to_vec();
        elastic.push(("TORCHELASTIC_USE_AGENT_STORE", "True"));
        assert_eq!(world(&elastic).unwrap().address, "node0:1235");
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ];
        assert_eq!(world(&mpi).unwrap().address, "127.0.0.1:29400");
        assert_eq!(world(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]).unwrap().size, 1);
    }

    #[test]
    fn variables_that_make_no_sense_are_named() {
        let said = world(&[("RANK", "x"), ("WORLD_SIZE", "2")]).unwrap_err();
        assert_eq!(said, "RANK is 'x', which is not a number");
        let said = world(&[("RANK", "2"), ("WORLD_SIZE", "2")]).unwrap_err();
        assert!(said.contains("ranks count from 0"), "{said}");
        let far = [("PMI_RANK", "9"), ("PMI_SIZE", "16"), ("MPI_LOCALRANKID", "1")];
        assert!(world(&far).unwrap_err().contains("MASTER_ADDR must name"));
        let port = [("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_PORT", "70000")];
        assert!(world(&port).unwrap_err().contains("70000, which is no port"));
    }

    #[test]
    fn everybody_learns_what_everybody_said() {
        let threads: Vec<_> = worlds(3)
            .into_iter()
            .map(|world| {
                std::thread::spawn(move || {
                    let mut link = Link::connect(&world, RUN, SOON).unwrap();
                    let mine = vec![world.rank as u8; world.rank];
                    let first = link.all_gather(mine).unwrap();
                    let second = link.all_gather(Vec::new()).unwrap();
                    (first, second)
                })
            })
            .collect();
        for thread in threads {
            let (first, second) = thread.join().unwrap();
            assert_eq!(first, [vec![], vec![1], vec![2, 2]]);
            assert_eq!(second, vec![Vec::<u8>::new(); 3]);
        }
    }

    #[test]
    fn a_process_that_runs_something_else_is_told_so_and_one_that_ends_is_missed() {
        let said = |result: Result<Link, CudaError>| result.err().unwrap().to_string();
        let disagree = |first: Run, second: Run| {
            let pair = worlds(2);
            let other = pair[1].clone();
            let thread =
                std::thread::spawn(move || Link::connect(&other, second, SOON).map(|_| ()));
            let root = said(Link::connect(&pair[0], first, SOON));
            assert_eq!(thread.join().unwrap().unwrap_err().to_string(), root);
            root
        };
        let plan = disagree(RUN, Run { plan: 8, ..RUN });
        assert_eq!(plan, "rendezvous: rank 1 runs another plan than rank 0");
        let traced = Run { is_traced: true, ..RUN };
        let trace = "a trace, rank 1 does not: give --trace to all processes or to none";
        assert_eq!(disagree(traced, RUN), format!("rendezvous: rank 0 records {trace}"));
        let trace = "a trace, rank 0 does not: give --trace to all processes or to none";
        assert_eq!(disagree(RUN, traced), format!("rendezvous: rank 1 records {trace}"));

        let pair = worlds(2);
        let other = pair[1].clone();
        let thread = std::thread::spawn(move || drop(Link::connect(&other, RUN, SOON).unwrap()));
        let mut link = Link::connect(&pair[0], RUN, SOON).unwrap();
        thread.join().unwrap();
        let start = Instant::now();
        while link.lost().is_none() {
            assert!(start.elapsed() < SOON, "the end is noticed");
        }
        let said = link.all_gather(vec![]).unwrap_err().to_string();
        assert!(said.contains("the process of rank 1 has ended"), "{said}");
    }

    #[test]
    fn who_does_not_come_is_named() {
        let world = worlds(3).remove(0);
        let soon = Duration::from_millis(30);
        let said = Link::connect(&world, RUN, soon).err().unwrap().to_string();
        assert!(said.contains("no sign of rank 1, 2 after 30ms"), "{said}");
    }
}
