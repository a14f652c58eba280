// The shape of the settings of a recipe.
import * as z from 'zod';
import { configFile, named, remove, textFields, words } from './schema-parts.ts';

const unitStates = ['enabled', 'disabled', 'masked'] as const;

const module = z
  .union([
    words.describe('The name of a kernel module.'),
    z.strictObject({
      name: words.describe('The name of a kernel module.'),
      options: words.optional().describe('Its options, as in modprobe.d.'),
      remove: remove.optional(),
    }),
  ])
  .transform(named);

const unit = z
  .strictObject({
    name: words.describe('The name of the unit with its suffix.'),
    state: z
      .enum(unitStates)
      .optional()
      .describe('Whether it starts with the node, or cannot be started at all.'),
    ...textFields,
    dropIn: z.string().optional().describe('Lines that are laid over the unit.'),
    remove: remove.optional(),
  })
  .describe('A systemd unit: a new one, or one that a package brings.');

const user = z
  .strictObject({
    name: words.describe('The name of the user, and of a group of its own.'),
    uid: z.int().min(1).max(59_999).optional().describe('The next free one from 1000 on when left out.'),
    groups: z.array(words).optional().describe('Further groups; those that do not exist are made.'),
    shell: words.optional().describe('/bin/sh when left out.'),
    home: words.optional().describe('/home/NAME when left out.'),
    authorizedKeys: z.array(words).optional().describe('Public keys for ssh, one line each.'),
    remove: remove.optional(),
  })
  .describe('A user. There are no passwords.');

const trustAnchor = z
  .strictObject({ name: words.describe('What it is called.'), ...textFields, remove: remove.optional() })
  .describe('The certificate of an authority, in PEM.');

export const settings = z
  .strictObject({
    sysctl: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .optional()
      .describe('Kernel parameters by name.'),
    modules: z.array(module).optional().describe('Kernel modules that are loaded at each start.'),
    units: z.array(unit).optional().describe('systemd units.'),
    users: z.array(user).optional().describe('Users of the system.'),
    files: z.array(configFile).optional().describe('Files of the system.'),
    kernelArguments: z.array(words).optional().describe('Arguments of the kernel, one each.'),
    limits: z
      .record(z.string(), z.union([z.int().min(0), z.literal('infinity')]))
      .optional()
      .describe('Resource limits of services and logins, such as `nofile`.'),
    time: z
      .strictObject({
        zone: words
          .optional()
          .describe('The time zone, like Europe/Berlin; tzdata comes with it. UTC when left out.'),
        servers: z.array(words).optional().describe('Servers that the clock is set by.'),
      })
      .optional()
      .describe('The clock.'),
    trust: z.array(trustAnchor).optional().describe('Authorities that the system trusts beyond its own.'),
    sim: z
      .strictObject({
        breaks: words.optional().describe('What shall go wrong.'),
        guest: z.array(words).optional().describe('What the scripted Windows of a base does wrong.'),
      })
      .optional()
      .describe('For the simulated provider alone.'),
  })
  .describe('The configuration of the system.');
