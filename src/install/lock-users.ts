// Users that are no longer wanted: they keep their files and their number, and can no longer log in.
import type { Host } from './host.ts';

const noLogin = '/usr/sbin/nologin';

/** Skips users that the system does not know. A second call changes nothing. */
export async function lockUsers(host: Host, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const lines = ((await host.readText('/etc/passwd')) ?? '').split('\n');
  const locked: string[] = [];
  for (const line of lines) {
    const fields = line.split(':');
    const home = fields[5];
    if (fields.length < 7 || home === undefined || !names.includes(fields[0] ?? '')) {
      locked.push(line);
      continue;
    }
    locked.push([...fields.slice(0, 6), noLogin].join(':'));
    const keys = `${home}/.ssh/authorized_keys`;
    if ((await host.readText(keys)) !== undefined) await host.remove(keys);
  }
  await host.writeText('/etc/passwd', locked.join('\n'));
}
