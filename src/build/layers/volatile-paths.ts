// What package tools leave behind that belongs to one machine or one moment, and so on no image: identities,
// logs, caches, locks and copies of what was before.
import type { TarEntry } from '../../disk/tar/entry.ts';

/** Files that must exist and be empty: systemd fills them at the first start. */
export const emptied: ReadonlySet<string> = new Set(['etc/machine-id']);

const dropped: readonly RegExp[] = [
  /^(?:dev|proc|sys|run|tmp|imago-inputs)\/./,
  /^imago-inputs$/,
  /^var\/(?:tmp|log|cache\/apt|lib\/apt\/lists)\/./,
  /^var\/cache\/(?:debconf\/.*-old|ldconfig\/aux-cache)$/,
  /^var\/lib\/dpkg\/(?:.*-old|lock|lock-frontend|triggers\/Lock|updates\/.*)$/,
  /^var\/lib\/(?:dbus\/machine-id|systemd\/random-seed|ucf\/.*\.\d+|shim-signed\/mok)$/,
  /^etc\/(?:passwd-|group-|shadow-|gshadow-|subuid-|subgid-|\.pwd\.lock)$/,
  /^etc\/ssh\/ssh_host_/,
  /^etc\/ssl\/private\/ssl-cert-snakeoil\.key$/,
  /^usr\/sbin\/policy-rc\.d$/,
  /^boot\/initrd\.img/,
  /^root\/\.bash_history$/,
];

/** Folders below the dropped ones that packages own, such as /var/log/apt, stay. */
export function staysWithin({ path, type }: Pick<TarEntry, 'path' | 'type'>): boolean {
  if (type === 'directory' && /^var\/(?:log|cache)\//.test(path)) return true;
  return !dropped.some((pattern) => pattern.test(path));
}
