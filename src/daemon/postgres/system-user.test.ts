import { describe, expect, it } from 'vitest';
import type { SystemUser, UserDirectory } from '../../host/process/system-user.ts';
import { choosePostgresUser } from './system-user.ts';

const imago = { name: 'imago', uid: 990, gid: 990 };
const nobody = { name: 'nobody', uid: 65_534, gid: 65_534 };
const root = { env: {}, uid: 0 };

function directory(options: {
  readonly users?: readonly SystemUser[];
  readonly canMake?: boolean;
  readonly owner?: { uid: number; gid: number };
}): UserDirectory & { readonly made: string[] } {
  const users = [...(options.users ?? [])];
  const made: string[] = [];
  return {
    made,
    find: (name) => users.find((user) => user.name === name),
    make(name) {
      made.push(name);
      if (options.canMake) users.push({ ...imago, name });
    },
    ownerOf: () => options.owner,
  };
}

describe('the user that PostgreSQL runs as', () => {
  it('is ourselves when we are not root', () => {
    expect(choosePostgresUser({ env: {}, uid: 1000 }, '/data', directory({}))).toBeUndefined();
  });

  it('is imago, and nothing is made when it is there', () => {
    const users = directory({ users: [nobody, imago] });
    expect(choosePostgresUser(root, '/data', users)).toEqual(imago);
    expect(users.made).toEqual([]);
  });

  it('is made when it is missing', () => {
    const users = directory({ users: [nobody], canMake: true });
    expect(choosePostgresUser(root, '/data', users)).toEqual(imago);
    expect(users.made).toEqual(['imago']);
  });

  it('falls back to the `nobody` user if no user can be created', () => {
    expect(choosePostgresUser(root, '/data', directory({ users: [nobody] }))).toEqual(nobody);
  });

  it('stays the owner of an existing database, even if there is a better user now', () => {
    const users = directory({ users: [imago], owner: { uid: 65_534, gid: 65_533 } });
    expect(choosePostgresUser(root, '/data', users)).toMatchObject({ uid: 65_534, gid: 65_533 });
  });

  it('is never root, not even if a directory or the environment names it', () => {
    const users = directory({ users: [imago, { name: 'toor', uid: 0, gid: 0 }], owner: { uid: 0, gid: 0 } });
    expect(choosePostgresUser(root, '/data', users)).toEqual(imago);
    const asked = { env: { IMAGO_POSTGRES_USER: 'toor' }, uid: 0 };
    expect(() => choosePostgresUser(asked, '/data', users)).toThrow(/root/);
  });

  it('is the one that the environment names, or an error when there is none', () => {
    const users = directory({ users: [nobody] });
    const asked = (name: string) => ({ env: { IMAGO_POSTGRES_USER: name }, uid: 0 });
    expect(choosePostgresUser(asked('nobody'), '/data', users)).toEqual(nobody);
    expect(() => choosePostgresUser(asked('somebody'), '/data', users)).toThrow(/somebody/);
  });

  it('is an error on a machine without any', () => {
    expect(() => choosePostgresUser(root, '/data', directory({}))).toThrow(/nobody/);
  });
});
