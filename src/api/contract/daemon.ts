// The daemon itself.
import * as z from 'zod';
import { restoreReport } from '../schemas/archive.ts';
import { doctorReport, shutdownAnswer, shutdownRequest, status, versionInfo } from '../schemas/daemon.ts';
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
  backup: endpoint({
    tag: 'Daemon',
    summary: 'Everything that the daemon knows, as one file',
    role: 'admin',
    effect: 'read',
    audited: true,
    stream: 'download',
    status: 200,
    response: z.unknown(),
  }),
  restore: endpoint({
    tag: 'Daemon',
    summary: 'Put a backup into an empty database',
    description:
      'All or nothing; a database that holds images or operations is refused. A dry run reads and checks the whole ' +
      'backup. Afterwards the daemon begins again.',
    role: 'admin',
    effect: 'write',
    stream: 'upload',
    status: 200,
    response: restoreReport,
  }),
};
