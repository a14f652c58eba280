// Ports to whoever runs the machine, by their names.
import type { System } from './system.ts';

/** The kernel makes the device before udev names it. */
export function portDevice(system: System, name: string): string | undefined {
  const ports = '/sys/class/virtio-ports';
  const found = system.list(ports).find((port) => system.readText(`${ports}/${port}/name`)?.trim() === name);
  return found === undefined ? undefined : `/dev/${found}`;
}
