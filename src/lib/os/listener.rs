//! A listening socket that whoever started this process opened for it. Must never know what is listened for.

use std::io;
use std::net::TcpListener;
use std::os::fd::{FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{getsockopt, sockopt};

/// Takes over the listening socket at that descriptor. It is the caller's to see that each number is given once, and only one that this
/// process was started with for the purpose. An error where no socket listens there; the descriptor is left alone then.
pub fn inherited_listener(descriptor: RawFd) -> io::Result<TcpListener> {
    if descriptor < 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a descriptor is not negative"));
    }
    // SAFETY: the descriptor is not one that any part of this process has opened and would close: `klog serve` takes it from its own command
    // line once, before it listens anywhere. One that is not open fails the first call below and is given back.
    #[allow(unsafe_code)]
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let listens = fcntl(&socket, FcntlArg::F_GETFD).and_then(|_| getsockopt(&socket, sockopt::AcceptConn));
    match listens {
        Ok(true) => (),
        refused => {
            // Not ours after all.
            let _ = socket.into_raw_fd();
            let why = refused.err().map_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no socket listens there"), io::Error::from);
            return Err(why);
        }
    }
    fcntl(&socket, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn a_listening_socket_is_taken_and_nothing_else() {
        let bound = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = bound.local_addr().expect("is bound");
        let taken = inherited_listener(bound.into_raw_fd()).expect("it listens");
        assert_eq!(taken.local_addr().expect("is bound"), address);

        let stream = TcpStream::connect(address).expect("connects");
        assert!(inherited_listener(stream.as_raw_fd()).is_err());
        // It was left open.
        assert!(stream.peer_addr().is_ok());
        let file = tempfile::tempfile().expect("a file");
        assert!(inherited_listener(file.as_raw_fd()).is_err());
        assert!(file.metadata().is_ok());
        assert!(inherited_listener(-1).is_err());
        assert!(inherited_listener(1_000_000).is_err());
    }
}
