// The daemon itself.
import { settingView } from '../../domain/settings/settings.ts';
import { backupQuery, restoreQuery, restoreReport } from '../schemas/archive.ts';
import { pageOf } from '../schemas/common.ts';
import {
  doctorReport,
  setSettingRequest,
  shutdownAnswer,
  shutdownRequest,
  status,
  versionInfo,
} from '../schemas/daemon.ts';
import { endpoints, read, write } from './endpoint.ts';

export const daemonContract = endpoints('Daemon', {
  status: read('GET /v1/status', 'Show the status of the daemon, its database, and its work', {
    response: status,
  }),
  doctor: read(
    'GET /v1/doctor',
    'Check the host of the daemon for missing prerequisites, and show how to install them',
    { response: doctorReport },
  ),
  version: read('GET /v1/version', 'Show the versions of Imago, of the API, and of Node', {
    response: versionInfo,
  }),
  shutdown: write('POST /v1/shutdown', 'Stop the daemon', {
    role: 'admin',
    status: 202,
    body: shutdownRequest,
    bodyOptional: true,
    response: shutdownAnswer,
    description: 'Live operations stay recorded and resume when a daemon starts again.',
  }),
  listSettings: read('GET /v1/settings', 'List the settings of the daemon', {
    response: pageOf(settingView),
  }),
  setSetting: write('POST /v1/settings/{setting}', 'Set a setting', {
    role: 'admin',
    body: setSettingRequest,
    response: settingView,
    description: 'It is stored in the state directory and takes effect when the daemon starts again.',
  }),
  unsetSetting: write('DELETE /v1/settings/{setting}', 'Remove a setting, so that its default applies', {
    role: 'admin',
    response: settingView,
  }),
  backup: read('GET /v1/backup', 'Download everything in the database as one signed file', {
    role: 'admin',
    query: backupQuery,
    audited: true,
    passphrase: true,
    stream: 'download',
    description:
      'Does not include the disks of versions: the first lines of the file list what else to copy.',
  }),
  restore: write('POST /v1/restore', 'Load a backup into an empty database', {
    role: 'admin',
    query: restoreQuery,
    response: restoreReport,
    passphrase: true,
    stream: 'upload',
    description:
      'All or nothing. Refuses a database that holds images or operations, and a backup of another host unless `key` names its signer or the passphrase opens it. A dry run verifies and loads the backup without committing. The daemon restarts afterwards.',
  }),
});
