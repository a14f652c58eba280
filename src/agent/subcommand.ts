// What a verb of the agent's program is given.
import type { QuickJsModules } from './quickjs/modules.ts';
import type { System } from './system/system.ts';

export interface VerbContext {
  readonly modules: QuickJsModules;
  readonly system: System;
  readonly version: string;
  readonly print: (line: string) => void;
}

export type Verb = (context: VerbContext) => Promise<number>;
