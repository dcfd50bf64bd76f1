//! The table of functions that plugins are given. Written by `cargo xtask header` from the exported functions, in the order
//! of `include/api-order.txt`; do not edit.

use crate::*;

/// The functions that a plugin is given, without `piper_`. Later versions have more at the end, and no others.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PiperApi {
    /// `sizeof(PiperApi)` of the host.
    pub size: usize,
    /// `piper_abi_version`
    pub abi_version: unsafe extern "C" fn() -> u32,
    /// `piper_attr_array`
    pub attr_array: unsafe extern "C" fn(
        module: *const PiperModule,
        items: *const PiperAttr,
        num_items: usize,
    ) -> PiperAttr,
    /// `piper_attr_as_float`
    pub attr_as_float:
        unsafe extern "C" fn(module: *const PiperModule, attr: PiperAttr, out: *mut f64) -> bool,
    /// `piper_attr_as_int`
    pub attr_as_int:
        unsafe extern "C" fn(module: *const PiperModule, attr: PiperAttr, out: *mut i64) -> bool,
    /// `piper_attr_as_ints`
    pub attr_as_ints: unsafe extern "C" fn(
        module: *const PiperModule,
        attr: PiperAttr,
        out: *mut i64,
        room: usize,
    ) -> usize,
    /// `piper_attr_as_string`
    pub attr_as_string:
        unsafe extern "C" fn(module: *const PiperModule, attr: PiperAttr) -> PiperStr,
    /// `piper_attr_as_type`
    pub attr_as_type:
        unsafe extern "C" fn(module: *const PiperModule, attr: PiperAttr) -> PiperType,
    /// `piper_attr_bool`
    pub attr_bool: unsafe extern "C" fn(module: *const PiperModule, value: bool) -> PiperAttr,
    /// `piper_attr_dictionary`
    pub attr_dictionary: unsafe extern "C" fn(
        module: *const PiperModule,
        entries: *const PiperNamedAttr,
        num_entries: usize,
    ) -> PiperAttr,
    /// `piper_attr_float`
    pub attr_float: unsafe extern "C" fn(module: *const PiperModule, value: f64) -> PiperAttr,
    /// `piper_attr_float_of`
    pub attr_float_of:
        unsafe extern "C" fn(module: *const PiperModule, ty: PiperType, value: f64) -> PiperAttr,
    /// `piper_attr_int`
    pub attr_int: unsafe extern "C" fn(module: *const PiperModule, value: i64) -> PiperAttr,
    /// `piper_attr_int_of`
    pub attr_int_of:
        unsafe extern "C" fn(module: *const PiperModule, ty: PiperType, value: i64) -> PiperAttr,
    /// `piper_attr_ints`
    pub attr_ints: unsafe extern "C" fn(
        module: *const PiperModule,
        values: *const i64,
        num_values: usize,
    ) -> PiperAttr,
    /// `piper_attr_item`
    pub attr_item: unsafe extern "C" fn(
        module: *const PiperModule,
        attr: PiperAttr,
        index: usize,
    ) -> PiperAttr,
    /// `piper_attr_item_name`
    pub attr_item_name:
        unsafe extern "C" fn(module: *const PiperModule, attr: PiperAttr, index: usize) -> PiperStr,
    /// `piper_attr_kind`
    pub attr_kind: unsafe extern "C" fn(module: *const PiperModule, attr: PiperAttr) -> u32,
    /// `piper_attr_len`
    pub attr_len: unsafe extern "C" fn(module: *const PiperModule, attr: PiperAttr) -> usize,
    /// `piper_attr_parse`
    pub attr_parse: unsafe extern "C" fn(
        module: *const PiperModule,
        text: PiperStr,
        out: *mut PiperAttr,
        error: *mut *mut PiperError,
    ) -> PiperStatus,
    /// `piper_attr_string`
    pub attr_string: unsafe extern "C" fn(module: *const PiperModule, text: PiperStr) -> PiperAttr,
    /// `piper_attr_symbol`
    pub attr_symbol: unsafe extern "C" fn(module: *const PiperModule, name: PiperStr) -> PiperAttr,
    /// `piper_attr_text`
    pub attr_text: unsafe extern "C" fn(
        module: *const PiperModule,
        attr: PiperAttr,
        out: *mut PiperString,
    ) -> PiperStatus,
    /// `piper_attr_type`
    pub attr_type: unsafe extern "C" fn(module: *const PiperModule, ty: PiperType) -> PiperAttr,
    /// `piper_attr_unit`
    pub attr_unit: unsafe extern "C" fn(module: *const PiperModule) -> PiperAttr,
    /// `piper_block_add_arg`
    pub block_add_arg: unsafe extern "C" fn(
        module: *mut PiperModule,
        block: PiperBlock,
        ty: PiperType,
    ) -> PiperValue,
    /// `piper_block_arg`
    pub block_arg: unsafe extern "C" fn(
        module: *const PiperModule,
        block: PiperBlock,
        index: usize,
    ) -> PiperValue,
    /// `piper_block_erase`
    pub block_erase:
        unsafe extern "C" fn(module: *mut PiperModule, block: PiperBlock) -> PiperStatus,
    /// `piper_block_first_op`
    pub block_first_op:
        unsafe extern "C" fn(module: *const PiperModule, block: PiperBlock) -> PiperOp,
    /// `piper_block_last_op`
    pub block_last_op:
        unsafe extern "C" fn(module: *const PiperModule, block: PiperBlock) -> PiperOp,
    /// `piper_block_next`
    pub block_next:
        unsafe extern "C" fn(module: *const PiperModule, block: PiperBlock) -> PiperBlock,
    /// `piper_block_num_args`
    pub block_num_args:
        unsafe extern "C" fn(module: *const PiperModule, block: PiperBlock) -> usize,
    /// `piper_block_parent`
    pub block_parent:
        unsafe extern "C" fn(module: *const PiperModule, block: PiperBlock) -> PiperOp,
    /// `piper_error_at`
    pub error_at:
        unsafe extern "C" fn(error: *const PiperError, index: usize) -> *const PiperDiagnostic,
    /// `piper_error_destroy`
    pub error_destroy: unsafe extern "C" fn(error: *mut PiperError),
    /// `piper_error_len`
    pub error_len: unsafe extern "C" fn(error: *const PiperError) -> usize,
    /// `piper_error_status`
    pub error_status: unsafe extern "C" fn(error: *const PiperError) -> PiperStatus,
    /// `piper_error_text`
    pub error_text: unsafe extern "C" fn(error: *const PiperError) -> PiperStr,
    /// `piper_loc_file`
    pub loc_file: unsafe extern "C" fn(
        module: *const PiperModule,
        file: PiperStr,
        line: u32,
        column: u32,
    ) -> PiperLoc,
    /// `piper_loc_name`
    pub loc_name: unsafe extern "C" fn(module: *const PiperModule, loc: PiperLoc) -> PiperStr,
    /// `piper_loc_named`
    pub loc_named: unsafe extern "C" fn(
        module: *const PiperModule,
        name: PiperStr,
        child: PiperLoc,
    ) -> PiperLoc,
    /// `piper_loc_position`
    pub loc_position: unsafe extern "C" fn(
        module: *const PiperModule,
        loc: PiperLoc,
        file: *mut PiperStr,
        line: *mut u32,
        column: *mut u32,
    ) -> bool,
    /// `piper_module_body`
    pub module_body: unsafe extern "C" fn(module: *const PiperModule) -> PiperBlock,
    /// `piper_module_clear_misuse`
    pub module_clear_misuse: unsafe extern "C" fn(module: *mut PiperModule) -> PiperStatus,
    /// `piper_module_misuse`
    pub module_misuse: unsafe extern "C" fn(module: *const PiperModule) -> PiperStr,
    /// `piper_module_misuse_status`
    pub module_misuse_status: unsafe extern "C" fn(module: *const PiperModule) -> PiperStatus,
    /// `piper_module_root`
    pub module_root: unsafe extern "C" fn(module: *const PiperModule) -> PiperOp,
    /// `piper_module_text`
    pub module_text: unsafe extern "C" fn(
        module: *const PiperModule,
        flags: u32,
        out: *mut PiperString,
    ) -> PiperStatus,
    /// `piper_module_verify`
    pub module_verify: unsafe extern "C" fn(
        module: *const PiperModule,
        error: *mut *mut PiperError,
    ) -> PiperStatus,
    /// `piper_op_attr`
    pub op_attr:
        unsafe extern "C" fn(module: *const PiperModule, op: PiperOp, name: PiperStr) -> PiperAttr,
    /// `piper_op_attr_at`
    pub op_attr_at: unsafe extern "C" fn(
        module: *const PiperModule,
        op: PiperOp,
        index: usize,
    ) -> PiperNamedAttr,
    /// `piper_op_block`
    pub op_block: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> PiperBlock,
    /// `piper_op_copy`
    pub op_copy:
        unsafe extern "C" fn(module: *mut PiperModule, op: PiperOp, place: PiperPlace) -> PiperOp,
    /// `piper_op_create`
    pub op_create: unsafe extern "C" fn(
        module: *mut PiperModule,
        parts: *const PiperOpParts,
        place: PiperPlace,
    ) -> PiperOp,
    /// `piper_op_erase`
    pub op_erase: unsafe extern "C" fn(module: *mut PiperModule, op: PiperOp) -> PiperStatus,
    /// `piper_op_is_alive`
    pub op_is_alive: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> bool,
    /// `piper_op_loc`
    pub op_loc: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> PiperLoc,
    /// `piper_op_lookup`
    pub op_lookup:
        unsafe extern "C" fn(module: *const PiperModule, from: PiperOp, name: PiperStr) -> PiperOp,
    /// `piper_op_move`
    pub op_move: unsafe extern "C" fn(
        module: *mut PiperModule,
        op: PiperOp,
        place: PiperPlace,
    ) -> PiperStatus,
    /// `piper_op_name`
    pub op_name: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> PiperStr,
    /// `piper_op_next`
    pub op_next: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> PiperOp,
    /// `piper_op_num_attrs`
    pub op_num_attrs: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> usize,
    /// `piper_op_num_operands`
    pub op_num_operands: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> usize,
    /// `piper_op_num_regions`
    pub op_num_regions: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> usize,
    /// `piper_op_num_results`
    pub op_num_results: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> usize,
    /// `piper_op_num_successors`
    pub op_num_successors: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> usize,
    /// `piper_op_operand`
    pub op_operand:
        unsafe extern "C" fn(module: *const PiperModule, op: PiperOp, index: usize) -> PiperValue,
    /// `piper_op_operands_named`
    pub op_operands_named: unsafe extern "C" fn(
        module: *const PiperModule,
        op: PiperOp,
        name: PiperStr,
        first: *mut usize,
    ) -> usize,
    /// `piper_op_parent`
    pub op_parent: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> PiperOp,
    /// `piper_op_prev`
    pub op_prev: unsafe extern "C" fn(module: *const PiperModule, op: PiperOp) -> PiperOp,
    /// `piper_op_region`
    pub op_region:
        unsafe extern "C" fn(module: *const PiperModule, op: PiperOp, index: usize) -> PiperRegion,
    /// `piper_op_replace`
    pub op_replace: unsafe extern "C" fn(
        module: *mut PiperModule,
        op: PiperOp,
        values: *const PiperValue,
        num_values: usize,
    ) -> PiperStatus,
    /// `piper_op_result`
    pub op_result:
        unsafe extern "C" fn(module: *const PiperModule, op: PiperOp, index: usize) -> PiperValue,
    /// `piper_op_set_attr`
    pub op_set_attr: unsafe extern "C" fn(
        module: *mut PiperModule,
        op: PiperOp,
        name: PiperStr,
        attr: PiperAttr,
    ) -> PiperStatus,
    /// `piper_op_set_loc`
    pub op_set_loc:
        unsafe extern "C" fn(module: *mut PiperModule, op: PiperOp, loc: PiperLoc) -> PiperStatus,
    /// `piper_op_set_operand`
    pub op_set_operand: unsafe extern "C" fn(
        module: *mut PiperModule,
        op: PiperOp,
        index: usize,
        value: PiperValue,
    ) -> PiperStatus,
    /// `piper_op_set_operands`
    pub op_set_operands: unsafe extern "C" fn(
        module: *mut PiperModule,
        op: PiperOp,
        values: *const PiperValue,
        num_values: usize,
    ) -> PiperStatus,
    /// `piper_op_successor`
    pub op_successor:
        unsafe extern "C" fn(module: *const PiperModule, op: PiperOp, index: usize) -> PiperBlock,
    /// `piper_op_text`
    pub op_text: unsafe extern "C" fn(
        module: *const PiperModule,
        op: PiperOp,
        flags: u32,
        out: *mut PiperString,
    ) -> PiperStatus,
    /// `piper_pass_count`
    pub pass_count:
        unsafe extern "C" fn(pass: *mut PiperPass, name: PiperStr, by: u64) -> PiperStatus,
    /// `piper_pass_module`
    pub pass_module: unsafe extern "C" fn(pass: *mut PiperPass) -> *mut PiperModule,
    /// `piper_pass_note`
    pub pass_note:
        unsafe extern "C" fn(pass: *mut PiperPass, loc: PiperLoc, text: PiperStr) -> PiperStatus,
    /// `piper_pass_op`
    pub pass_op: unsafe extern "C" fn(pass: *mut PiperPass) -> PiperOp,
    /// `piper_pass_option`
    pub pass_option: unsafe extern "C" fn(pass: *mut PiperPass, name: PiperStr) -> PiperStr,
    /// `piper_pass_report`
    pub pass_report: unsafe extern "C" fn(
        pass: *mut PiperPass,
        how_serious: u32,
        loc: PiperLoc,
        text: PiperStr,
        hint: PiperStr,
    ) -> PiperStatus,
    /// `piper_region_add_block`
    pub region_add_block:
        unsafe extern "C" fn(module: *mut PiperModule, region: PiperRegion) -> PiperBlock,
    /// `piper_region_create`
    pub region_create: unsafe extern "C" fn(module: *mut PiperModule) -> PiperRegion,
    /// `piper_region_first_block`
    pub region_first_block:
        unsafe extern "C" fn(module: *const PiperModule, region: PiperRegion) -> PiperBlock,
    /// `piper_region_parent`
    pub region_parent:
        unsafe extern "C" fn(module: *const PiperModule, region: PiperRegion) -> PiperOp,
    /// `piper_registrar_add_dialects`
    pub registrar_add_dialects: unsafe extern "C" fn(
        registrar: *mut PiperRegistrar,
        name: PiperStr,
        text: PiperStr,
    ) -> PiperStatus,
    /// `piper_registrar_add_pass`
    pub registrar_add_pass: unsafe extern "C" fn(
        registrar: *mut PiperRegistrar,
        pass: *const PiperPassInfo,
    ) -> PiperStatus,
    /// `piper_string_free`
    pub string_free: unsafe extern "C" fn(string: *mut PiperString),
    /// `piper_type_element`
    pub type_element: unsafe extern "C" fn(module: *const PiperModule, ty: PiperType) -> PiperType,
    /// `piper_type_extent`
    pub type_extent:
        unsafe extern "C" fn(module: *const PiperModule, ty: PiperType, dimension: usize) -> i64,
    /// `piper_type_float`
    pub type_float:
        unsafe extern "C" fn(module: *const PiperModule, spelling: PiperStr) -> PiperType,
    /// `piper_type_function`
    pub type_function: unsafe extern "C" fn(
        module: *const PiperModule,
        inputs: *const PiperType,
        num_inputs: usize,
        results: *const PiperType,
        num_results: usize,
    ) -> PiperType,
    /// `piper_type_input`
    pub type_input:
        unsafe extern "C" fn(module: *const PiperModule, ty: PiperType, index: usize) -> PiperType,
    /// `piper_type_integer`
    pub type_integer: unsafe extern "C" fn(module: *const PiperModule, width: u32) -> PiperType,
    /// `piper_type_kind`
    pub type_kind: unsafe extern "C" fn(module: *const PiperModule, ty: PiperType) -> u32,
    /// `piper_type_num_inputs`
    pub type_num_inputs: unsafe extern "C" fn(module: *const PiperModule, ty: PiperType) -> usize,
    /// `piper_type_num_results`
    pub type_num_results: unsafe extern "C" fn(module: *const PiperModule, ty: PiperType) -> usize,
    /// `piper_type_parse`
    pub type_parse: unsafe extern "C" fn(
        module: *const PiperModule,
        text: PiperStr,
        out: *mut PiperType,
        error: *mut *mut PiperError,
    ) -> PiperStatus,
    /// `piper_type_rank`
    pub type_rank: unsafe extern "C" fn(module: *const PiperModule, ty: PiperType) -> usize,
    /// `piper_type_result`
    pub type_result:
        unsafe extern "C" fn(module: *const PiperModule, ty: PiperType, index: usize) -> PiperType,
    /// `piper_type_tensor`
    pub type_tensor: unsafe extern "C" fn(
        module: *const PiperModule,
        shape: *const i64,
        rank: usize,
        element: PiperType,
    ) -> PiperType,
    /// `piper_type_text`
    pub type_text: unsafe extern "C" fn(
        module: *const PiperModule,
        ty: PiperType,
        out: *mut PiperString,
    ) -> PiperStatus,
    /// `piper_type_width`
    pub type_width: unsafe extern "C" fn(module: *const PiperModule, ty: PiperType) -> u32,
    /// `piper_value_block`
    pub value_block:
        unsafe extern "C" fn(module: *const PiperModule, value: PiperValue) -> PiperBlock,
    /// `piper_value_index`
    pub value_index: unsafe extern "C" fn(module: *const PiperModule, value: PiperValue) -> usize,
    /// `piper_value_name`
    pub value_name: unsafe extern "C" fn(module: *const PiperModule, value: PiperValue) -> PiperStr,
    /// `piper_value_op`
    pub value_op: unsafe extern "C" fn(module: *const PiperModule, value: PiperValue) -> PiperOp,
    /// `piper_value_replace`
    pub value_replace: unsafe extern "C" fn(
        module: *mut PiperModule,
        value: PiperValue,
        by: PiperValue,
    ) -> PiperStatus,
    /// `piper_value_set_name`
    pub value_set_name: unsafe extern "C" fn(
        module: *mut PiperModule,
        value: PiperValue,
        name: PiperStr,
    ) -> PiperStatus,
    /// `piper_value_set_type`
    pub value_set_type: unsafe extern "C" fn(
        module: *mut PiperModule,
        value: PiperValue,
        ty: PiperType,
    ) -> PiperStatus,
    /// `piper_value_type`
    pub value_type:
        unsafe extern "C" fn(module: *const PiperModule, value: PiperValue) -> PiperType,
    /// `piper_value_uses`
    pub value_uses: unsafe extern "C" fn(
        module: *const PiperModule,
        value: PiperValue,
        out: *mut PiperUse,
        room: usize,
    ) -> usize,
    /// `piper_version`
    pub version: unsafe extern "C" fn() -> PiperStr,
    /// `piper_walk`
    pub walk: unsafe extern "C" fn(
        module: *mut PiperModule,
        root: PiperOp,
        order: u32,
        visit: PiperVisit,
        user: *mut std::ffi::c_void,
    ) -> PiperStatus,
    /// `piper_walk_next`
    pub walk_next:
        unsafe extern "C" fn(module: *const PiperModule, root: PiperOp, op: PiperOp) -> PiperOp,
}

pub(crate) static API: PiperApi = PiperApi {
    size: size_of::<PiperApi>(),
    abi_version: piper_abi_version,
    attr_array: piper_attr_array,
    attr_as_float: piper_attr_as_float,
    attr_as_int: piper_attr_as_int,
    attr_as_ints: piper_attr_as_ints,
    attr_as_string: piper_attr_as_string,
    attr_as_type: piper_attr_as_type,
    attr_bool: piper_attr_bool,
    attr_dictionary: piper_attr_dictionary,
    attr_float: piper_attr_float,
    attr_float_of: piper_attr_float_of,
    attr_int: piper_attr_int,
    attr_int_of: piper_attr_int_of,
    attr_ints: piper_attr_ints,
    attr_item: piper_attr_item,
    attr_item_name: piper_attr_item_name,
    attr_kind: piper_attr_kind,
    attr_len: piper_attr_len,
    attr_parse: piper_attr_parse,
    attr_string: piper_attr_string,
    attr_symbol: piper_attr_symbol,
    attr_text: piper_attr_text,
    attr_type: piper_attr_type,
    attr_unit: piper_attr_unit,
    block_add_arg: piper_block_add_arg,
    block_arg: piper_block_arg,
    block_erase: piper_block_erase,
    block_first_op: piper_block_first_op,
    block_last_op: piper_block_last_op,
    block_next: piper_block_next,
    block_num_args: piper_block_num_args,
    block_parent: piper_block_parent,
    error_at: piper_error_at,
    error_destroy: piper_error_destroy,
    error_len: piper_error_len,
    error_status: piper_error_status,
    error_text: piper_error_text,
    loc_file: piper_loc_file,
    loc_name: piper_loc_name,
    loc_named: piper_loc_named,
    loc_position: piper_loc_position,
    module_body: piper_module_body,
    module_clear_misuse: piper_module_clear_misuse,
    module_misuse: piper_module_misuse,
    module_misuse_status: piper_module_misuse_status,
    module_root: piper_module_root,
    module_text: piper_module_text,
    module_verify: piper_module_verify,
    op_attr: piper_op_attr,
    op_attr_at: piper_op_attr_at,
    op_block: piper_op_block,
    op_copy: piper_op_copy,
    op_create: piper_op_create,
    op_erase: piper_op_erase,
    op_is_alive: piper_op_is_alive,
    op_loc: piper_op_loc,
    op_lookup: piper_op_lookup,
    op_move: piper_op_move,
    op_name: piper_op_name,
    op_next: piper_op_next,
    op_num_attrs: piper_op_num_attrs,
    op_num_operands: piper_op_num_operands,
    op_num_regions: piper_op_num_regions,
    op_num_results: piper_op_num_results,
    op_num_successors: piper_op_num_successors,
    op_operand: piper_op_operand,
    op_operands_named: piper_op_operands_named,
    op_parent: piper_op_parent,
    op_prev: piper_op_prev,
    op_region: piper_op_region,
    op_replace: piper_op_replace,
    op_result: piper_op_result,
    op_set_attr: piper_op_set_attr,
    op_set_loc: piper_op_set_loc,
    op_set_operand: piper_op_set_operand,
    op_set_operands: piper_op_set_operands,
    op_successor: piper_op_successor,
    op_text: piper_op_text,
    pass_count: piper_pass_count,
    pass_module: piper_pass_module,
    pass_note: piper_pass_note,
    pass_op: piper_pass_op,
    pass_option: piper_pass_option,
    pass_report: piper_pass_report,
    region_add_block: piper_region_add_block,
    region_create: piper_region_create,
    region_first_block: piper_region_first_block,
    region_parent: piper_region_parent,
    registrar_add_dialects: piper_registrar_add_dialects,
    registrar_add_pass: piper_registrar_add_pass,
    string_free: piper_string_free,
    type_element: piper_type_element,
    type_extent: piper_type_extent,
    type_float: piper_type_float,
    type_function: piper_type_function,
    type_input: piper_type_input,
    type_integer: piper_type_integer,
    type_kind: piper_type_kind,
    type_num_inputs: piper_type_num_inputs,
    type_num_results: piper_type_num_results,
    type_parse: piper_type_parse,
    type_rank: piper_type_rank,
    type_result: piper_type_result,
    type_tensor: piper_type_tensor,
    type_text: piper_type_text,
    type_width: piper_type_width,
    value_block: piper_value_block,
    value_index: piper_value_index,
    value_name: piper_value_name,
    value_op: piper_value_op,
    value_replace: piper_value_replace,
    value_set_name: piper_value_set_name,
    value_set_type: piper_value_set_type,
    value_type: piper_value_type,
    value_uses: piper_value_uses,
    version: piper_version,
    walk: piper_walk,
    walk_next: piper_walk_next,
};
