import type { Scenario } from '../scenario/scenario.ts';
import { EPOCH_MS, type World } from '../world/world.ts';
import { type OwnServer, OwnService } from './own.ts';
import { ScriptedService } from './scripted.ts';
import type { Service } from './service.ts';

/** The service of a scenario. */
export function serviceOf({ service }: Scenario, server: OwnServer, world: World): Service {
  const { clock } = world;
  if (service.kind === 'scripted') return new ScriptedService(service, clock);
  return new OwnService(server, service, clock, () => Math.floor(EPOCH_MS + clock.now));
}
