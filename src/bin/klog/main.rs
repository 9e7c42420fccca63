//! klog.
fn main() {}
