import type { Command } from 'commander';
import type { Perform } from '../perform.ts';
import { declareAuthLogin } from './login.ts';
import { declareAuthLogout } from './logout.ts';
import { declareAuthStatus } from './status.ts';

export function declareAuth(program: Command, perform: Perform): void {
  const auth = program.command('auth').description('Store, check and remove an API key.');
  declareAuthLogin(auth, perform);
  declareAuthLogout(auth, perform);
  declareAuthStatus(auth, perform);
}
