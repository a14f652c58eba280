// What is put on the node beside settings: users, files, units, trust, the choice of components, hotfixes.
import type { Field } from './field.ts';
import * as forms from './forms.ts';

const costOfChange = {
  type: 'choice',
  about: 'What a change of this entry costs, as its author knows.',
  of: ['live', 'restart', 'drain'],
} as const satisfies Field;

const restarts = {
  type: 'list',
  about: 'Units that are restarted after a change of this entry.',
  items: { type: 'text', about: 'A unit.', form: forms.unitName },
  maxItems: 20,
  default: [],
} as const satisfies Field;

export const usersField = {
  type: 'list',
  about: 'People who may log in, by ssh key only. Users that leave the list are locked, not deleted.',
  ability: 'users',
  cost: 'live',
  key: ['name'],
  maxItems: 50,
  default: [],
  items: {
    type: 'object',
    about: 'One user.',
    fields: {
      name: { type: 'text', required: true, about: 'The name.', form: forms.userName },
      uid: {
        type: 'whole',
        about: 'The number. Absent: the next free one from 1000 on.',
        min: 1,
        max: 4_294_967_293,
      },
      groups: {
        type: 'list',
        about: 'Groups beyond the own one.',
        items: { type: 'text', about: 'A group.', form: forms.userName },
        maxItems: 32,
      },
      shell: { type: 'text', about: 'The login shell.', form: forms.absolutePath, default: '/bin/sh' },
      home: { type: 'text', about: 'The home folder. Absent: /home/NAME.', form: forms.absolutePath },
      authorizedKeys: {
        type: 'list',
        about: 'Public keys of ssh.',
        items: { type: 'text', about: 'A key.', form: forms.publicKey, maxLength: 8192 },
        maxItems: 50,
      },
      sudo: {
        type: 'boolean',
        about: 'Whether the user may become root without a password.',
        default: false,
      },
    },
  },
} as const satisfies Field;

export const trustField = {
  type: 'list',
  about: 'Certificates of authorities that the system and its container runtime trust beyond their own.',
  ability: 'trust',
  cost: 'restart',
  key: ['name'],
  maxItems: 20,
  default: [],
  items: {
    type: 'object',
    about: 'One authority.',
    fields: {
      name: {
        type: 'text',
        required: true,
        about: 'A name for it.',
        form: { pattern: '^[a-z0-9][a-z0-9._-]{0,62}$', says: 'a file name in lower case' },
      },
      certificate: {
        type: 'text',
        required: true,
        about: 'In PEM.',
        form: forms.pem,
        multiline: true,
        maxLength: 20_000,
      },
    },
  },
} as const satisfies Field;

export const filesField = {
  type: 'list',
  about: 'Files with their content. One that leaves the list is taken away.',
  ability: 'files',
  cost: 'live',
  key: ['path'],
  maxItems: 100,
  default: [],
  items: {
    type: 'object',
    about: 'One file.',
    costFrom: 'cost',
    fields: {
      path: {
        type: 'text',
        required: true,
        about: 'Where it goes.',
        form: forms.absolutePath,
        maxLength: 1024,
      },
      content: {
        type: 'text',
        required: true,
        about: 'The whole of it.',
        multiline: true,
        maxLength: 40_000,
      },
      mode: { type: 'text', about: 'Permission bits.', form: forms.fileMode, default: '0644' },
      owner: { type: 'text', about: 'Whose it is.', form: forms.fileOwner, default: 'root:root' },
      cost: { ...costOfChange, default: 'live' },
      restarts,
    },
  },
} as const satisfies Field;

export const unitsField = {
  type: 'list',
  about: 'Units of systemd: own ones, drop-ins over those of the image, and their state.',
  ability: 'units',
  cost: 'restart',
  key: ['name'],
  maxItems: 50,
  default: [],
  items: {
    type: 'object',
    about: 'One unit.',
    costFrom: 'cost',
    fields: {
      name: { type: 'text', required: true, about: 'Its name.', form: forms.unitName },
      state: {
        type: 'choice',
        about: 'Whether it is started now and at each boot. Absent: as the image has it.',
        of: ['enabled', 'disabled', 'masked'],
      },
      content: {
        type: 'text',
        about: 'The unit itself, when the image has none.',
        multiline: true,
        maxLength: 20_000,
      },
      dropIn: { type: 'text', about: 'Lines that are laid over it.', multiline: true, maxLength: 20_000 },
      cost: { ...costOfChange, default: 'restart' },
    },
  },
} as const satisfies Field;

export const componentsField = {
  type: 'map',
  about: 'Which version of a component is used, where the image has several side by side.',
  ability: 'components',
  cost: 'drain',
  keys: forms.componentName,
  values: { type: 'text', about: 'The version.', form: forms.versionText },
  maxItems: 100,
  default: {},
  example: { kubelet: '1.34.2' },
} as const satisfies Field;

export const hotfixesField = {
  type: 'list',
  about:
    'Components that the image lacks, or has in another version: installed by the same code that bakes images. One that the image has by now is skipped.',
  ability: 'hotfixes',
  cost: 'restart',
  key: ['component'],
  maxItems: 20,
  default: [],
  items: {
    type: 'object',
    about: 'One component.',
    costFrom: 'cost',
    fields: {
      component: { type: 'text', required: true, about: 'Its name.', form: forms.componentName },
      version: {
        type: 'text',
        required: true,
        about: 'The version that it brings.',
        form: forms.versionText,
      },
      kind: {
        type: 'choice',
        about: 'What the source holds: a single program or file, an archive, or a Debian package.',
        of: ['binary', 'tar', 'package'],
        default: 'binary',
      },
      source: {
        type: 'text',
        required: true,
        about: 'Where it is fetched from, without user and password.',
        form: forms.httpUrl,
        maxLength: 2048,
      },
      sha256: { type: 'text', required: true, about: 'What it must be.', form: forms.sha256Form },
      to: {
        type: 'text',
        about:
          'Where it goes: a file for `binary`, a folder for `tar`. Absent: where the image has the component.',
        form: forms.absolutePath,
        maxLength: 1024,
      },
      mode: { type: 'text', about: 'Permission bits of a binary.', form: forms.fileMode, default: '0755' },
      strip: {
        type: 'whole',
        about: 'Leading folders of an archive that are left out.',
        min: 0,
        max: 20,
        default: 0,
      },
      restarts,
      cost: { ...costOfChange, default: 'restart' },
    },
  },
} as const satisfies Field;

export const policyField = {
  type: 'object',
  about: 'What the agent may do by itself when the config of a running node changes.',
  cost: 'live',
  fields: {
    restart: {
      type: 'choice',
      about:
        'Whether changes that restart services are applied at once, or reported and held until the next boot.',
      of: ['apply', 'hold'],
      default: 'apply',
    },
  },
} as const satisfies Field;
