// Generated from the contract by `npm run generate`.
import type { DerivedCommand } from './command.ts';

export const derivedCommands: readonly DerivedCommand[] = [
  {"endpoint":"deleteMachine","effect":"write","summary":"Delete a standalone machine and its disk","details":"A test that is running on the machine fails.","words":"machine delete","irreversible":true,"examples":[["imago machine delete test-4f1a-1 --yes","Delete a machine without a prompt"]],"done":"Machine {name} and its disk are being deleted","args":[{"name":"MACHINE","field":"machine","description":"Name of the machine"}],"flags":{}},
  {"endpoint":"deletePool","effect":"operation","summary":"Delete a pool and all its nodes","details":"This is irreversible. The record of what its nodes were created from is retained. Nodes are not drained first: their pods stop without being evicted.","words":"pool delete","irreversible":true,"examples":[["imago pool delete web --expect 3 --yes","Delete it without a prompt if it has three nodes"]],"done":"Pool {name} is deleted","args":[{"name":"POOL","field":"pool","description":"Name of the pool"}],"flags":{"expect":{"field":"expect","description":"Fail unless the pool has this many nodes","value":"N","number":true}}},
];
