// Decides what is this host's own loopback, where no one else can listen in: tokens may travel there without TLS.

/** Whether this is an address of the loopback interface. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:/, '');
  return plain === '::1' || /^127(?:\.\d{1,3}){3}$/.test(plain);
}

/** Whether a host that someone wrote is loopback: an address, or the name that is reserved for it. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host);
}
