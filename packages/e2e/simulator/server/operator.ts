import type { Clients } from './clients.ts';
import { type Lead, leadTo, linkOf, mayLeadTo, SEEN_MS } from './leads.ts';
import type { Account, Create, Ledger, Move } from './ledger.ts';
import { choose } from './plan.ts';
import type { Owner } from './scheduler.ts';
import type { Story } from './story.ts';
import { LETTERS, type World } from './world.ts';

/** What the operator's commands do to links: they correct them, and move them in. Each is judged as soon as it has ended. */
export class Operator {
  readonly #world: World;
  readonly #story: Story;
  readonly #clients: Clients;
  readonly #owner: Owner = { name: 'operator', alive: true };
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
    const by = 'operator';
    const [outcome] =
      (await this.#perform((store, now) =>
        store.updateLinks([{ code, target_url, ifTarget, by, now }]),
      )) ?? [];
    lead.done = this.#world.scheduler.steady;
    lead.isCertain = outcome?.ok === true;
    this.#story.note(`the correction to ${target_url}: ${outcome?.ok ?? 'failed'}`);
    const others = leads.filter((other) => other !== lead);
    if (outcome?.ok === true) {
      if (ifTarget !== undefined && !mayLeadTo(others, ifTarget, lead.begun))
        this.#story.report(`${code} was corrected although it did not lead to ${ifTarget}`);
    } else if (outcome?.reason === 'other_target') {
      leads.splice(leads.indexOf(lead), 1);
      if (ifTarget === undefined || !mayLeadTo(others, outcome.target_url, lead.begun))
        this.#story.report(`${code} is said to lead to ${outcome.target_url}`);
    } else if (outcome !== undefined) this.#story.report(`${code} is unknown to a correction`);
    if (isWatched) await this.#watch(code, target);
  }

  /** Moves some links in, with the addresses that they had elsewhere. */
  async move(account: Account, size: number): Promise<void> {
    const number = this.#ledger.moves.length + 1;
    const links = Array.from({ length: 1 + (size % 4) }, (_, index) => ({
      id: `00000000-0000-7000-8000-${String(number * 100 + index).padStart(12, '0')}`,
      code: index % 2 === 0 ? undefined : `MVD${LETTERS[number]}${LETTERS[index]}ab`,
      domain_id: null,
      target_url: `https://example.com/moved-${number}/${index}`,
      title: '',
      redirect_type: 302 as const,
      is_active: true,
      tags: [],
      click_count: 0,
      created_at: this.#world.scheduler.now,
      aliases: [`/old-${number}-${index}`, `/older/${number}-${index}`].map((path) => ({
        domain_id: '',
        path,
      })),
    }));
    const move: Move = { account, links, isCertain: false };
    this.#ledger.moves.push(move);
    this.#story.note(`${links.length} links move to ${account.name}: move ${number}`);
    const begun = this.#world.scheduler.steady;
    const leads = links.map(
      ({ target_url }): Lead => ({ target: target_url, begun, done: undefined }),
    );
    for (const [index, { code, aliases }] of links.entries()) {
      const nowhere = leadTo(undefined);
      const paths = [...aliases.map(({ path }) => path.slice(1)), code ?? []].flat();
      for (const path of paths) this.#ledger.leads.set(path, [nowhere, leads[index] ?? nowhere]);
    }
    const old = `old-${number}-0`;
    if (size % 3 === 0) await this.#watch(old, undefined);
    const accountId = account.id;
    const outcomes = await this.#perform((store) => store.importLinks({ accountId, links }));
    move.isCertain = outcomes !== undefined;
    for (const lead of leads)
      Object.assign(lead, { done: this.#world.scheduler.steady, isCertain: move.isCertain });
    const states = (outcomes ?? []).map(({ state }) => state);
    this.#story.note(`move ${number}: ${outcomes === undefined ? 'failed' : states.join()}`);
    if (states.some((state) => state !== 'created')) {
      this.#story.report(`of move ${number}, not all were created: ${states.join()}`);
    }
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

  /** Carries a command out on a disk that may fail; undefined where it did, with or without its changes. */
  async #perform<T>(
    command: (store: Parameters<Parameters<World['operate']>[0]>[0], now: number) => Promise<T>,
  ): Promise<T | undefined> {
    const { scheduler } = this.#world;
    this.#open += 1;
    const { faults } = this.#ledger;
    const faultsBefore = faults.length;
    const begun = scheduler.elapsed;
    try {
      await scheduler.pause(this.#owner);
      return await this.#world.operate((store) => command(store, scheduler.now), true);
    } catch (error) {
      if (faults.length === faultsBefore && !this.#world.mayBeLate(begun))
        this.#story.report(`without a fault: ${error}`);
      return undefined;
    } finally {
      this.#open -= 1;
    }
  }
}
