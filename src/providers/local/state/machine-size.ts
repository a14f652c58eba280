// Machine sizes on this host.
import { invalid } from '../../../domain/error/refusals.ts';

export interface MachineSize {
  readonly cpus: number;
  readonly memoryMb: number;
}

/** One processor boots quicker than two under emulation, and is what most nodes here need. */
export const namedSizes: Readonly<Record<string, MachineSize>> = {
  tiny: { cpus: 1, memoryMb: 512 },
  small: { cpus: 1, memoryMb: 1024 },
  medium: { cpus: 2, memoryMb: 2048 },
  large: { cpus: 4, memoryMb: 4096 },
};

const smallestMb = 64;

/** `small`, or processors and memory in words like `2cpu-2g` or `1cpu-768m`. Throws `input-invalid`. */
export function readSize(text: string): MachineSize {
  const named = Object.hasOwn(namedSizes, text) ? namedSizes[text] : undefined;
  if (named !== undefined) return named;
  const [, cpus = '', amount = '', unit] = /^([1-9]\d{0,2})cpu-([1-9]\d{0,6})([gm])$/.exec(text) ?? [];
  const memoryMb = Number(amount) * (unit === 'g' ? 1024 : 1);
  if (cpus !== '' && memoryMb >= smallestMb) return { cpus: Number(cpus), memoryMb };
  throw invalid(
    `${JSON.stringify(text)} is not a machine size. Use ${Object.keys(namedSizes).join(', ')}, or a size like 2cpu-2g.`,
  );
}
