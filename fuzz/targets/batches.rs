//! Records as a producer or a broker sends them: every batch unpacks to records or to an error.
#![no_main]

use klog::wire::records::split_batches;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for batch in split_batches(bytes).flatten() {
        batch.check_crc().ok();
        let Ok(unpacked) = batch.unpack(1 << 22) else { continue };
        for record in unpacked.records().flatten() {
            record.headers.for_each(drop);
        }
    }
});
