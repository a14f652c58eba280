import { describe, expect, it } from 'vitest';
import { stateFolder } from './paths.ts';

describe('the state folder', () => {
  it('is IMAGO_HOME wherever that points, as an absolute path', () => {
    expect(stateFolder({ env: { IMAGO_HOME: '/srv/imago' }, uid: 0 })).toBe('/srv/imago');
    expect(stateFolder({ env: { IMAGO_HOME: 'here' }, uid: 1000 })).toBe(`${process.cwd()}/here`);
  });

  it('is /var/lib/imago for root, whatever the XDG folders are', () => {
    expect(stateFolder({ env: { XDG_STATE_HOME: '/x', HOME: '/root' }, uid: 0 })).toBe('/var/lib/imago');
  });

  it('is the XDG state folder for everyone else', () => {
    expect(stateFolder({ env: { XDG_STATE_HOME: '/x' }, uid: 1000 })).toBe('/x/imago');
    expect(stateFolder({ env: { HOME: '/home/a' }, uid: 1000 })).toBe('/home/a/.local/state/imago');
  });

  it('ignores an XDG directory that is not absolute, as the specification says', () => {
    expect(stateFolder({ env: { XDG_STATE_HOME: 'x', HOME: '/home/a' }, uid: 1000 })).toBe(
      '/home/a/.local/state/imago',
    );
  });
});
