import type { Scenario } from '../scenario/scenario.ts';
import type { World } from '../world/world.ts';
import { type OwnServer, OwnService } from './own.ts';
import { ScriptedService } from './scripted.ts';
import type { Service } from './service.ts';

/** The service of a scenario. */
export function serviceOf({ service }: Scenario, server: OwnServer, world: World): Service {
  const { scheduler } = world;
  if (service.kind === 'scripted') return new ScriptedService(service, scheduler);
  return new OwnService(server, service, scheduler);
}
