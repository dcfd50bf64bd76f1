//! Graphs: work that was captured once and is launched many times.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi::{Code, Handle, Result};
use crate::call::{calls, put};
use crate::function::function;
use crate::handles::Table;
use crate::launch::{self, Shape};
use crate::queue::{Signal, Task, lock};
use crate::stream::{Stream, stream};

/// One piece of work of a graph.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) task: Task,
    /// Earlier nodes that it follows.
    pub(crate) after: Vec<usize>,
    pub(crate) device: usize,
    /// The stream that it was captured on.
    pub(crate) lane: usize,
}

/// A graph.
pub(crate) struct Graph {
    /// The number of its capture, which handles of its nodes have.
    pub(crate) id: u64,
    pub(crate) nodes: Vec<Node>,
}

/// `CUDA_KERNEL_NODE_PARAMS`, version 2.
#[repr(C)]
pub(crate) struct KernelParams {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    params: *const *const u8,
    extra: *const usize,
    kernel: Handle,
    context: Handle,
}

/// The handle of a node: a mark, the capture, and its number there.
pub(crate) fn node_handle(capture: u64, number: usize) -> Handle {
    0x5154_0a00_0000_0000 | (capture as Handle & 0xf_ffff) << 20 | number
}

/// A graph that can be launched; launches of one follow each other.
struct Executable {
    id: u64,
    nodes: Mutex<Vec<Node>>,
    last: Mutex<Option<Arc<Signal>>>,
}

static GRAPHS: Table<Graph> = Table::new(6);
static EXECUTABLES: Table<Executable> = Table::new(7);

/// Takes a graph in.
pub(crate) fn insert(graph: Graph) -> Handle {
    GRAPHS.insert(Arc::new(graph))
}

/// Makes a graph ready. Its nodes get streams of their own, one for each that they were captured on, so that what orders
/// them is the graph alone.
fn instantiate(graph: &Graph) -> Handle {
    let mut queues = lock();
    let mut lanes = BTreeMap::new();
    let mut nodes = graph.nodes.clone();
    for node in &mut nodes {
        node.lane = *lanes.entry(node.lane).or_insert_with(|| queues.new_lane());
    }
    let nodes = Mutex::new(nodes);
    EXECUTABLES.insert(Arc::new(Executable { id: graph.id, nodes, last: Mutex::default() }))
}

fn replay(graph: &Executable, stream: &Stream) -> Result {
    if stream.is_captured() {
        return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
    }
    let mut queues = lock();
    if let Some(code) = queues.line(stream.device.ordinal).error {
        return Err(code);
    }
    let mut last = graph.last.lock().unwrap_or_else(PoisonError::into_inner);
    let mut before = stream.predecessors();
    before.extend(last.take());
    let nodes = graph.nodes.lock().unwrap_or_else(PoisonError::into_inner);
    let mut done: Vec<Arc<Signal>> = Vec::with_capacity(nodes.len());
    for node in nodes.iter() {
        let mut after = before.clone();
        after.extend(node.after.iter().map(|number| done[*number].clone()));
        done.push(queues.push(node.device, node.lane, node.task.clone(), after));
    }
    before.append(&mut done);
    let end = queues.push(stream.device.ordinal, stream.lane, Task::mark("graph"), before);
    stream.set_tail(end.clone());
    *last = Some(end);
    Ok(())
}

calls! {
    /// Makes a graph ready; flags have no effect.
    fn cuGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, _flags: u64) {
        let graph = GRAPHS.get(graph)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, instantiate(&graph)) }
    }

    /// As above, with parameters that have no effect.
    fn cuGraphInstantiateWithParams(to: *mut Handle, graph: Handle, _params: *mut c_void) {
        let graph = GRAPHS.get(graph)?;
        // SAFETY: the caller's place for the result.
        unsafe { put(to, instantiate(&graph)) }
    }

    /// Gives a launch of a graph other arguments, from its next launch on.
    fn cuGraphExecKernelNodeSetParams_v2(graph: Handle, node: Handle, params: *const KernelParams) {
        let graph = EXECUTABLES.get(graph)?;
        if params.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller's structure.
        let given = unsafe { params.read() };
        let function = function(given.function)?;
        let mut nodes = graph.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let number = node & 0xf_ffff;
        if node != node_handle(graph.id, number) {
            return Err(Code::INVALID_HANDLE);
        }
        let place = nodes.get_mut(number).ok_or(Code::INVALID_HANDLE)?;
        if place.device != function.device.ordinal {
            return Err(Code::INVALID_HANDLE);
        }
        let shape = Shape { grid: given.grid, block: given.block, shared: given.shared };
        // SAFETY: the caller gives the arguments in one of the two forms.
        let task = unsafe { launch::node(&function, shape, given.params, given.extra)? };
        if task.name != place.task.name {
            // Another kernel, or no kernel at all: a driver allows some of this.
            return Err(Code::NOT_SUPPORTED);
        }
        place.task = task;
        Ok(())
    }

    /// There is nothing to upload.
    fn cuGraphUpload(graph: Handle, _stream: Handle) {
        EXECUTABLES.get(graph).map(|_| ())
    }

    /// Launches a graph.
    fn cuGraphLaunch(graph: Handle, on: Handle) {
        replay(&*EXECUTABLES.get(graph)?, &*stream(on)?)
    }

    /// Forgets a graph that was ready; what was launched goes on.
    fn cuGraphExecDestroy(graph: Handle) {
        EXECUTABLES.remove(graph).map(|_| ())
    }

    /// Forgets a graph.
    fn cuGraphDestroy(graph: Handle) {
        GRAPHS.remove(graph).map(|_| ())
    }

    /// How many nodes there are; they have no handles.
    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        let graph = GRAPHS.get(graph)?;
        if !nodes.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        // SAFETY: the caller's place for the result.
        unsafe { put(count, graph.nodes.len()) }
    }
}
