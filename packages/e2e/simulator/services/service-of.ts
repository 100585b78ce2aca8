import { ScriptedService } from '../../../sdk/test/scripted-service/scripted-service.ts';
import type { Service } from '../../../sdk/test/scripted-service/service.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { ELSEWHERE, EPOCH_MS, type World } from '../world/world.ts';
import { type OwnServer, OwnService } from './own.ts';

/** The service of a scenario. Its clock stays right when that of the client jumps. */
export function serviceOf({ service }: Scenario, server: OwnServer, { scheduler }: World): Service {
  if (service.kind === 'own') return new OwnService(server, service, scheduler);
  return new ScriptedService(service, {
    now: () => EPOCH_MS + scheduler.elapsed,
    wait: (ms) => scheduler.sleep(ELSEWHERE, ms),
  });
}
