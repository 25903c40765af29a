//! Instructions of programs so short that no compiler is needed.
//!
//! Source: RFC 9669.

/// One instruction, `struct bpf_insn`: its code, the numbers of the destination
/// and source registers, an offset and a constant.
pub(crate) fn instruction(code: u8, (to, from): (u8, u8), offset: i16, constant: i32) -> u64 {
    let registers = if cfg!(target_endian = "little") {
        from << 4 | to
    } else {
        to << 4 | from
    };
    let [a, b] = offset.to_ne_bytes();
    let [c, d, e, f] = constant.to_ne_bytes();
    u64::from_ne_bytes([code, registers, a, b, c, d, e, f])
}
