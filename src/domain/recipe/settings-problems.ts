// What can be wrong with the settings of a recipe.

import { quote } from '../value/quote.ts';
import { didYouMean } from '../value/suggest.ts';
import { wordProblem } from '../value/word.ts';
import { destinationProblem } from './destination.ts';
import { limitNames } from './installer-names.ts';
import { modeProblem, type RecipeProblem, repeated, textProblem } from './problem.ts';
import type { RecipeSettings } from './recipe.ts';

const unitSuffixes = ['service', 'socket', 'timer', 'target', 'path', 'mount', 'slice', 'swap', 'automount'];

export function unitNameProblem(name: string): string | undefined {
  const pattern = new RegExp(`^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]*\\.(?:${unitSuffixes.join('|')})$`);
  return pattern.test(name) ? undefined : `${quote(name)} is not the name of a unit, like kubelet.service`;
}

export function settingsProblems(settings: RecipeSettings): readonly RecipeProblem[] {
  return [
    ...sysctlProblems(settings),
    ...moduleProblems(settings),
    ...unitProblems(settings),
    ...userProblems(settings),
    ...fileProblems(settings),
    ...argumentProblems(settings),
    ...limitProblems(settings),
    ...timeProblems(settings),
    ...trustProblems(settings),
  ];
}

function at(...path: readonly (string | number)[]): RecipeProblem['path'] {
  return ['settings', ...path];
}

function sysctlProblems({ sysctl = {} }: RecipeSettings): readonly RecipeProblem[] {
  return Object.entries(sysctl).flatMap(([name, value]) => {
    if (!/^[a-z0-9_-]+(?:[./][A-Za-z0-9_*:-]+)+$/.test(name)) {
      return [{ path: at('sysctl', name), message: `${quote(name)} is not the name of a kernel parameter` }];
    }
    return /[\n\r]/.test(String(value))
      ? [{ path: at('sysctl', name), message: `${name} has a line break in its value` }]
      : [];
  });
}

function moduleProblems({ modules = [] }: RecipeSettings): readonly RecipeProblem[] {
  return [
    ...modules.flatMap(({ name, options = '' }, index) =>
      /^[A-Za-z0-9_][A-Za-z0-9_-]*$/.test(name) && !/[\n\r]/.test(options)
        ? []
        : [{ path: at('modules', index), message: `${quote(name)} is not a kernel module with options` }],
    ),
    ...repeated(modules, (module) => module.name, at('modules'), 'module'),
  ];
}

function unitProblems({ units = [] }: RecipeSettings): readonly RecipeProblem[] {
  return [
    ...units.flatMap((unit, index) => {
      const path = at('units', index);
      const problem = unitNameProblem(unit.name);
      if (problem !== undefined) return [{ path, message: problem }];
      const own = unit.content !== undefined || unit.file !== undefined;
      if (own && textProblem(unit) !== undefined)
        return [{ path, message: `${unit.name} has \`content\` and \`file\`` }];
      if (unit.state === 'masked' && (own || unit.dropIn !== undefined)) {
        return [{ path, message: `${unit.name} is masked: nothing else can be said about it` }];
      }
      if (!own && unit.state === undefined && unit.dropIn === undefined) {
        return [{ path, message: `${unit.name} says nothing: give a state, a content or a drop-in` }];
      }
      return [];
    }),
    ...repeated(units, (unit) => unit.name, at('units'), 'unit'),
  ];
}

function userProblems({ users = [] }: RecipeSettings): readonly RecipeProblem[] {
  const problems = users.flatMap((user, index) => {
    const path = at('users', index);
    if (!/^[a-z_][a-z0-9_-]{0,30}$/.test(user.name)) {
      return [{ path, message: `${quote(user.name)} is not the name of a user` }];
    }
    const names = user.groups ?? [];
    const wrong = names.find((group) => !/^[a-z_][a-z0-9_-]{0,30}$/.test(group));
    if (wrong !== undefined)
      return [{ path, message: `${user.name}: ${quote(wrong)} is not the name of a group` }];
    for (const place of [user.home, user.shell]) {
      const problem = place === undefined ? undefined : destinationProblem('linux', place);
      if (problem !== undefined || /[:\n]/.test(place ?? '')) {
        return [{ path, message: `${user.name}: ${quote(place ?? '')} is not an absolute path` }];
      }
    }
    const key = (user.authorizedKeys ?? []).find((line) => !isPublicKey(line));
    if (key !== undefined)
      return [{ path, message: `${user.name}: a line of authorizedKeys is not a public key` }];
    return [];
  });
  const numbered = users.filter((user) => user.uid !== undefined);
  return [
    ...problems,
    ...repeated(users, (user) => user.name, at('users'), 'user'),
    ...repeated(numbered, (user) => String(user.uid), at('users'), 'uid'),
  ];
}

function isPublicKey(line: string): boolean {
  return /^(?:ssh-(?:rsa|ed25519)|ecdsa-sha2-[a-z0-9-]+|sk-[a-z0-9@.-]+) [A-Za-z0-9+/=]{40,}(?: [^\n\r]*)?$/.test(
    line,
  );
}

function fileProblems({ files = [] }: RecipeSettings): readonly RecipeProblem[] {
  return files.flatMap((file, index) => {
    const problem =
      destinationProblem('linux', file.path) ??
      textProblem(file) ??
      modeProblem(file.mode) ??
      ownerProblem(file.owner);
    return problem === undefined
      ? []
      : [{ path: at('files', index), message: `${quote(file.path)}: ${problem}` }];
  });
}

function ownerProblem(owner: string | undefined): string | undefined {
  if (owner === undefined || /^[a-z0-9_-]+:[a-z0-9_-]+$/.test(owner)) return undefined;
  return `its owner ${quote(owner)} is not written USER:GROUP`;
}

function argumentProblems({ kernelArguments = [] }: RecipeSettings): readonly RecipeProblem[] {
  return kernelArguments.flatMap((argument, index) => {
    const path = at('kernelArguments', index);
    if (!/^[\x21-\x7e]+$/.test(argument)) {
      return [{ path, message: `${quote(argument)} is not one kernel argument in plain text` }];
    }
    if (/^(?:root|rootfstype|initrd)=/.test(argument)) {
      return [{ path, message: `${quote(argument)}: the disk decides where its root is` }];
    }
    return [];
  });
}

function limitProblems({ limits = {} }: RecipeSettings): readonly RecipeProblem[] {
  return Object.keys(limits).flatMap((name) => {
    if (Object.hasOwn(limitNames, name)) return [];
    const hint = didYouMean(name, Object.keys(limitNames));
    return [
      {
        path: at('limits', name),
        message: `${quote(name)} is not a limit`,
        ...(hint === undefined ? {} : { hint }),
      },
    ];
  });
}

function timeProblems({ time }: RecipeSettings): readonly RecipeProblem[] {
  const servers = (time?.servers ?? []).flatMap((server, index) => {
    const message = wordProblem('host', server);
    return message === undefined ? [] : [{ path: at('time', 'servers', index), message }];
  });
  if (time?.zone === undefined || /^[A-Za-z0-9_+][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(time.zone))
    return servers;
  return [
    { path: at('time', 'zone'), message: `${quote(time.zone)} is not a time zone, like Europe/Berlin` },
    ...servers,
  ];
}

function trustProblems({ trust = [] }: RecipeSettings): readonly RecipeProblem[] {
  return [
    ...trust.flatMap((anchor, index) => {
      const problem = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(anchor.name)
        ? textProblem(anchor)
        : 'is not a plain name';
      return problem === undefined
        ? []
        : [{ path: at('trust', index), message: `${quote(anchor.name)} ${problem}` }];
    }),
    ...repeated(trust, (anchor) => anchor.name, at('trust'), 'trust anchor'),
  ];
}
