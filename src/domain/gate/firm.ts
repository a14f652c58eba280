// The gates that no policy contains and no admin can override.
import type { GateResult } from '../channel/decision.ts';
import { newestTest } from '../evidence/evidence.ts';
import type { GateFacts } from './facts.ts';

/** The digest must have passed its tests (rule 4). */
export function testedGate({ version, evidence }: GateFacts): GateResult {
  const test = newestTest(version.digest, evidence);
  const tested = test === undefined ? 'no test of it is stored' : `${test.summary} (${test.at})`;
  return {
    gate: 'tested',
    needs: 'a passed test of this digest, in state available',
    passed: test?.passed === true && version.state === 'available',
    value: `${version.state}; ${tested}`,
    ...(test === undefined ? {} : { evidence: [test.id] }),
  };
}

/** For a channel whose image is of the other kind. Never passes. */
export function realGate({ version, channel }: GateFacts): GateResult {
  return {
    gate: 'real',
    needs: `a ${channel.simulated ? 'simulated' : 'real'} version`,
    passed: false,
    value: `it is ${version.simulated ? 'simulated' : 'real'}`,
  };
}

/** Private inputs never become public. */
export function restrictedGate({ version, channel }: GateFacts): GateResult {
  return {
    gate: 'restricted',
    needs: `no private input, as ${channel.name} is public`,
    passed: version.restricted !== true,
    value: version.restricted === true ? 'the version has private inputs' : 'no private input',
  };
}
