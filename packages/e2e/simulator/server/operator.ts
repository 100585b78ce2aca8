import type { Owner } from '../kernel/scheduler.ts';
import type { Clients } from './clients.ts';
import { type Typed, type } from './commands.ts';
import { type Lead, leadTo, linkOf, mayLeadTo, SEEN_MS } from './leads.ts';
import type { Account, Create, Ledger, Move } from './ledger.ts';
import { addressesIn, MOVE_SERVICES, moveOf } from './move-files.ts';
import { choose } from './plan.ts';
import type { Story } from './story.ts';
import { LETTERS, PUBLIC_URL, type World } from './world.ts';

/** What is said of a link that leads elsewhere than the correction expects. */
const CHANGED = /leads to (\S+) now; it was not changed/;

/** No fault of the database explains these. */
const BUG = /\b(?:Type|Reference|Range|Syntax)Error\b/;

/** What the operator's commands do to links: they correct them, and move them in. Each is judged as soon as it has ended. */
export class Operator {
  readonly #world: World;
  readonly #story: Story;
  readonly #clients: Clients;
  readonly #owner: Owner = { name: 'operator', isAlive: true };
  #corrections = 0;
  /** Commands that have not ended. */
  #open = 0;

  constructor(world: World, story: Story, clients: Clients) {
    this.#world = world;
    this.#clients = clients;
    this.#story = story;
  }

  get #ledger(): Ledger {
    return this.#story.ledger;
  }

  /** Corrects where a link of a create leads, half of the time only if it still leads where it did at some time. */
  async correct(create: Create, size: number): Promise<void> {
    const { code, target } = linkOf(create, size);
    const leads = this.#ledger.leads.get(code) ?? [leadTo(target)];
    this.#ledger.leads.set(code, leads);
    const isWatched = size % 3 === 0;
    if (isWatched) await this.#watch(code, target);
    const ifTarget = size % 2 === 0 ? undefined : choose(leads, size)?.target;
    this.#corrections += 1;
    const target_url = `https://example.com/corrected-${this.#corrections}`;
    const lead: Lead = { target: target_url, begun: this.#world.scheduler.steady, done: undefined };
    leads.push(lead);
    const condition = ifTarget === undefined ? '' : ` if it leads to ${ifTarget}`;
    this.#story.note(`${code} is corrected to ${target_url}${condition}`);
    const named = size % 5 === 0 ? `${PUBLIC_URL}/${code}` : code;
    const words = ['links', 'update', named, '--target', target_url, '--by', 'operator', '--json'];
    const { exitCode, err } = await this.#type(
      ifTarget === undefined ? words : [...words, '--if-target', ifTarget],
      CHANGED,
    );
    lead.done = this.#world.scheduler.steady;
    lead.isCertain = exitCode === 0;
    this.#story.note(`the correction to ${target_url}: ${exitCode === 0 ? 'done' : err}`);
    const others = leads.filter((other) => other !== lead);
    const [, found] = CHANGED.exec(err) ?? [];
    if (exitCode === 0) {
      if (ifTarget !== undefined && !mayLeadTo(others, ifTarget, lead.begun))
        this.#story.report(`${code} was corrected although it did not lead to ${ifTarget}`);
    } else if (found !== undefined) {
      leads.splice(leads.indexOf(lead), 1);
      if (!mayLeadTo(others, found, lead.begun))
        this.#story.report(`${code} is said to lead to ${found}`);
    }
    if (isWatched) await this.#watch(code, target);
  }

  /** Moves some links in, with the addresses that they had elsewhere. */
  async move(account: Account, size: number): Promise<void> {
    const { moves } = this.#ledger;
    const number = moves.length + 1;
    const { now: at } = this.#world.scheduler;
    const service = MOVE_SERVICES[size % MOVE_SERVICES.length] ?? 'shortlink';
    const links = Array.from({ length: 1 + (size % 4) }, (_, index) => ({
      id: `00000000-0000-7000-8000-${String(number * 100 + index).padStart(12, '0')}`,
      code: service === 'shortlink' ? `MVD${LETTERS[number]}${LETTERS[index]}ab` : undefined,
      target: `https://example.com/moved-${number}/${index}`,
      paths: [`old-${number}-${index}`, `older/${number}-${index}`].slice(0, addressesIn(service)),
    }));
    const move: Move = { account, service, at, links, isCertain: false };
    moves.push(move);
    this.#story.note(`${links.length} links of ${service} move to ${account.name}: move ${number}`);
    const begun = this.#world.scheduler.steady;
    const leads = links.map(({ target }): Lead => ({ target, begun, done: undefined }));
    for (const [index, { code, paths }] of links.entries()) {
      const nowhere = leadTo(undefined);
      for (const path of [...paths, code ?? []].flat())
        this.#ledger.leads.set(path, [nowhere, leads[index] ?? nowhere]);
    }
    const old = `old-${number}-0`;
    if (size % 3 === 0) await this.#watch(old, undefined);
    const { words, stdin } = moveOf(service, account.id, links, at);
    const { exitCode, json, err } = await this.#type(words, undefined, stdin);
    move.isCertain = exitCode === 0;
    for (const lead of leads)
      Object.assign(lead, { done: this.#world.scheduler.steady, isCertain: move.isCertain });
    this.#story.note(`move ${number}: ${exitCode === 0 ? JSON.stringify(json) : err}`);
    if (exitCode === 0 && json.created !== links.length)
      this.#story.report(`of move ${number}, not all were created: ${JSON.stringify(json)}`);
    if (size % 3 === 0) await this.#watch(old, undefined);
  }

  /** Visitors follow a link at each instance, after the time in which these learn of changes. */
  async #watch(path: string, target: string | undefined): Promise<void> {
    this.#open += 1;
    await this.#world.scheduler.sleep(this.#owner, SEEN_MS + 250);
    this.#clients.visitAll(path, target);
    await this.#clients.untilIdle();
    this.#open -= 1;
  }

  async untilIdle(): Promise<void> {
    while (this.#open > 0) await this.#world.scheduler.sleep(this.#owner, 20);
  }

  /**
   * Types a command on a disk that may fail.
   *
   * @param expected - how it may fail without a fault. @default in no way
   */
  async #type(words: readonly string[], expected = /^(?!)/, stdin = ''): Promise<Typed> {
    const { scheduler } = this.#world;
    const { faults } = this.#ledger;
    const faultsBefore = faults.length;
    const begun = scheduler.elapsed;
    this.#open += 1;
    await scheduler.pause(this.#owner);
    const typed = await type(this.#world, words, { mayFail: true, stdin });
    this.#open -= 1;
    const { exitCode, err } = typed;
    const mayFail = faults.length > faultsBefore || this.#world.mayBeLate(begun);
    if (exitCode !== 0 && !expected.test(err) && (!mayFail || BUG.test(err)))
      this.#story.report(`${words.join(' ')} fails: ${err}`);
    return typed;
  }
}
