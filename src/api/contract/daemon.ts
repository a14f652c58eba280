// The daemon itself.
import * as z from 'zod';
import { settingView } from '../../domain/settings/settings.ts';
import { backupQuery, restoreQuery, restoreReport } from '../schemas/archive.ts';
import { name, pageOf } from '../schemas/common.ts';
import {
  doctorReport,
  setSettingRequest,
  shutdownAnswer,
  shutdownRequest,
  status,
  versionInfo,
} from '../schemas/daemon.ts';
import { endpoint } from './endpoint.ts';

export const daemonContract = {
  status: endpoint({
    tag: 'Daemon',
    summary: 'The state of the daemon, its database and its work',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: status,
  }),
  doctor: endpoint({
    tag: 'Daemon',
    summary: 'What this machine has and lacks, and how to get it',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: doctorReport,
  }),
  version: endpoint({
    tag: 'Daemon',
    summary: 'The versions of Imago, of the API and of Node',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: versionInfo,
  }),
  shutdown: endpoint({
    tag: 'Daemon',
    summary: 'Stop the daemon',
    description: 'Live operations stay recorded and go on when a daemon is started again.',
    role: 'admin',
    effect: 'write',
    body: shutdownRequest,
    bodyOptional: true,
    status: 202,
    response: shutdownAnswer,
  }),
  listSettings: endpoint({
    tag: 'Daemon',
    summary: 'List the settings of the daemon',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: pageOf(settingView),
  }),
  setSetting: endpoint({
    tag: 'Daemon',
    summary: 'Set a setting',
    description: 'It is kept in the state directory and takes effect when the daemon starts again.',
    role: 'admin',
    effect: 'write',
    path: z.strictObject({ setting: name }),
    body: setSettingRequest,
    status: 200,
    response: settingView,
  }),
  unsetSetting: endpoint({
    tag: 'Daemon',
    summary: 'Remove a setting; its default applies',
    role: 'admin',
    effect: 'write',
    path: z.strictObject({ setting: name }),
    status: 200,
    response: settingView,
  }),
  backup: endpoint({
    tag: 'Daemon',
    summary: 'Download everything in the database as one signed file',
    description:
      'Does not include the disks of versions: the first lines of the file list what else to copy.',
    role: 'admin',
    effect: 'read',
    audited: true,
    query: backupQuery,
    passphrase: true,
    stream: 'download',
    status: 200,
    response: z.unknown(),
  }),
  restore: endpoint({
    tag: 'Daemon',
    summary: 'Load a backup into an empty database',
    description:
      'All or nothing. Refuses a database that holds images or operations, and a backup of another host unless `key` ' +
      'names its signer or the passphrase opens it. A dry run verifies and loads the backup without committing. ' +
      'The daemon restarts afterwards.',
    role: 'admin',
    effect: 'write',
    query: restoreQuery,
    passphrase: true,
    stream: 'upload',
    status: 200,
    response: restoreReport,
  }),
};
