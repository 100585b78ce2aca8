import type { ImportSettings, ImportSummary } from '../../../cli/src/import/types.ts';
import type { MadeLink } from '../../../sdk/test/scripted-service/service.ts';
import type { Shares } from '../kernel/shares.ts';
import type { Ended } from '../program.ts';
import type { Paths } from '../scenario/files.ts';
import type { RowPlan, RunPlan } from '../scenario/scenario.ts';
import type { Decisions } from '../scenario/settings.ts';
import type { Exchange } from '../world/network.ts';
import type { Process } from '../world/world.ts';
import { checkDryRun, isForgotten, isUnderstood, textOf, userFiles } from './end-rules.ts';
import { countPairs, type Evidence, hasForgotten, NO_EVIDENCE, readEvidence } from './evidence.ts';
import { checkCodes, checkIsQuiet, checkJobs, openBefore, RecordedLinks } from './journal-rules.ts';
import {
  Counts,
  checkLinks,
  countLinks,
  countsOf,
  type Doubts,
  hasLookedAtKeys,
  isCreate,
  isLeftOpen,
  lacksResults,
  linksSent,
  mayExist,
  mayHaveMade,
  pairOfLink,
  sharedTargets,
  toldCodes,
  toldLinks,
  type Witness,
} from './ledger.ts';
import { LinkLimit } from './link-limit.ts';
import { checkApart, checkAsked, checkRequests } from './request-rules.ts';
import { addUnknown, checkIsWhole, checkRejects, checkResults } from './result-rules.ts';
import { SentOnce } from './sent-once.ts';
import { countShares } from './share-of-run.ts';
import { checkAgreement, checkSummary } from './summary-rules.ts';

/**
 * Knows every row and every link, and checks after each run what must hold whatever has happened. What it takes for granted is only
 * what the program was told: by whole responses, and by the disk.
 */
export class Oracle {
  rows: readonly RowPlan[] = [];
  /** In which of the imports rules were checked that can't be checked always. */
  readonly shares: Shares = {};
  readonly #all: Witness;
  #settings: ImportSettings | undefined;
  /** Links that rows have asked for at one time, since the last `--restart`. */
  #wanted = new Counts();
  /** The same before the journal was begun anew. */
  #wantedBefore = new Counts();
  /** Rows that are in `#wanted` already, as those of quiet runs are. */
  #countedRows: readonly RowPlan[] | undefined;
  /** The first run that counts: `--restart` asks for every link once more. */
  #firstRun = 1;
  #run = 0;
  /** The last run that has looked at each request that earlier ones have left open. */
  #lastLook = 0;
  readonly #sent = new SentOnce();
  readonly #limit: LinkLimit | undefined;
  /** What journals said to be open when the run began: it may settle such batches beyond its `--limit`. */
  #before = openBefore([]);
  /** Codes that the journal must know. */
  readonly #told = new Set<string>();
  /** What files say of links where the journal does not know all of them: the import has to find it there. */
  #evidence: Evidence = NO_EVIDENCE;
  /** Links that files named when the journal was begun anew. */
  #named = new Counts();
  /** Codes that the journal must have known for sure when the run began. */
  #known: ReadonlySet<string> = new Set();
  /** Rows as they were in any run, with their titles. */
  readonly #asked = new Counts();
  /** Whether links have the titles of the rows with which they are compared. */
  #areTitlesCertain: boolean;
  /** Whether a run may have created more links than there are rows, by `--on-similar create`. */
  #hasSpareLinks = false;
  readonly #doubts: Doubts;
  /** Links of requests that were recorded, and may not have been sent because the program was killed. */
  readonly #recorded = new RecordedLinks();
  #hasLostJournal = false;
  /** Whether a part of the journal was missing when the run began. */
  #isDamaged = false;
  #outputBefore: Buffer | undefined;
  /** Not where the folder of earlier results could not be synced: then a power cut may take them away later. */
  #isOutputDurable = true;
  #filesBefore = new Map<string, Buffer>();

  constructor(witness: Witness) {
    this.#all = witness;
    const { runs, service, user } = witness.scenario;
    const rows = runs.flatMap((run) => run.rows);
    const texts = new Set(runs.map((run) => JSON.stringify(run.rows)));
    const hasRefusedRows = rows.some(({ kind }) => kind === 'refused');
    this.#limit = service.hasLookup ? new LinkLimit(user, service.shape !== 3) : undefined;
    this.#doubts = { hasRefusedRows, shared: sharedTargets(rows, user) };
    // In a job of an earlier run, a row that was refused may stand for another one of its target.
    this.#areTitlesCertain = texts.size === 1 && service.shape !== 3 && !hasRefusedRows;
  }

  beginRun(
    plan: RunPlan,
    settings: ImportSettings,
    process: Process,
    { paths, decisions }: { paths: Paths; decisions: Decisions },
  ): void {
    const { world, service, scenario } = this.#all;
    process.onKilled = () => this.#recorded.addOpen(world.disk.names);
    this.#run += 1;
    this.#settings = settings;
    this.#hasSpareLinks ||= settings.onSimilar === 'create';
    const [{ user }, { made }] = [scenario, service];
    if (plan.losesJournal) this.#hasLostJournal = true;
    const hasForgottenRows = hasForgotten(plan, this.#hasLostJournal ? this.rows : [], user);
    this.rows = plan.rows;
    this.#isDamaged = world.disk.get(paths.journal)?.database?.isDamaged === true;
    // Whoever decides to create what files under other names have makes these files as good as lost.
    const isDecided = user.losesFiles && decisions.onSimilar === 'create' && !plan.dryRun;
    const hasEvidence = user.losesFiles || this.#hasLostJournal;
    const hasLost = hasForgottenRows || isDecided || decisions.hasMoved === true;
    if (hasEvidence)
      this.#evidence = readEvidence({ disk: world.disk, paths, user, made, decisions });
    // Of links in doubt, a look-up says whether they exist with the titles of their rows: others may be created then.
    const isAsked = isDecided && scenario.service.hasLookup;
    if ((plan.restart && !plan.dryRun) || hasLost) {
      this.#beginAgain({ hasLost, isAsked, keepsDecisions: isDecided && !hasForgottenRows });
    } else if (hasEvidence) this.#sent.raise(this.#evidence.links);
    this.#sent.beginRun();
    this.#before = openBefore(world.disk.names);
    const told = made.filter((link) => this.#told.has(link.code));
    const known = told.filter((link) => this.#before.links.of(pairOfLink(link)) === 0);
    this.#known = new Set(known.map(({ code }) => code));
    if (plan.rows !== this.#countedRows) this.#countRows(plan);
    if (settings.onUnknown === 'retry' && !plan.dryRun) {
      const known = toldLinks(service.made, this.#told);
      known.raise(this.#evidence.links);
      this.#sent.retry(known);
    }
    if (!plan.dryRun) this.#limit?.beginRun(plan, decisions, service.made);
    const output = world.disk.wholeOf(settings.output);
    this.#outputBefore = world.disk.get(output)?.bytes;
    this.#isOutputDurable = world.disk.isDurable(output);
    if (plan.dryRun) this.#filesBefore = userFiles(world.disk);
  }

  #countRows({ rows, dryRun }: RunPlan): void {
    const { wanted, asked } = countsOf(rows, this.#all.scenario.user);
    this.#asked.raise(asked);
    if (dryRun) return;
    this.#wanted.raise(wanted);
    this.#countedRows = rows;
  }

  /**
   * @param hasLost - the journal is what is left of it, and files may know more
   * @param isAsked - the service decides what files are in doubt about
   * @param keepsDecisions - whether no file is lost: a user has decided against some
   */
  #beginAgain({ hasLost = false, isAsked = false, keepsDecisions = false } = {}): void {
    this.#firstRun = this.#run;
    this.#wantedBefore = this.#wanted;
    this.#wanted = new Counts();
    this.#countedRows = undefined;
    this.#told.clear();
    const { codes, links, taken, repeated, keys } = hasLost ? this.#evidence : NO_EVIDENCE;
    for (const code of codes) this.#told.add(code);
    this.#named = links;
    this.#wanted.raise(repeated);
    const declined = hasLost ? [] : this.#all.service.made.map(({ code }) => code);
    this.#sent.beginAgain(isAsked ? links : taken, keys, declined, keepsDecisions);
  }

  endRun(plan: RunPlan, ended: Ended, hasSecond: boolean): void {
    const { network, scenario, service, world } = this.#all;
    const settings = this.#settings;
    if (settings === undefined) return;
    const { process, summary, error } = ended;
    let ofRun = network.exchanges.filter(({ run }) => run === this.#run);
    const own = ofRun.filter((exchange) => exchange.process === process);
    if (error !== undefined && !isUnderstood(error, plan)) {
      throw new Error(`the import throws ${error instanceof Error ? error.stack : String(error)}`);
    }
    checkRequests(own, scenario.user, settings);
    checkAsked(ofRun, this.#asked);
    if (hasSecond) checkApart(ofRun);
    const creators = new Set(ofRun.filter(isCreate).map((exchange) => exchange.process));
    if (plan.restart && creators.size > 1) {
      // The second one has begun when the first one had ended, and asks for every link once more.
      ofRun = ofRun.filter((exchange) => exchange.process === [...creators].at(-1));
      this.#sent.switchOff();
    }
    if (plan.dryRun) {
      const files = { before: this.#filesBefore, after: userFiles(world.disk) };
      checkDryRun(own, plan, files, settings.file);
    }
    this.#recorded.endRun(process, plan, world.disk.names, this.#told);
    this.#checkJournal(ofRun, process);
    // Of a request that was left open since a run has last looked at keys, nobody can tell its age once the clock is set back.
    const isUnseen = (exchange: Exchange) => exchange.run >= this.#lastLook && isLeftOpen(exchange);
    if ((plan.clockJump?.byMs ?? 0) < 0) {
      const open = network.exchanges.filter((exchange) => exchange.key !== undefined);
      this.#sent.forgetAge(open.filter(isUnseen));
    }
    if (hasLookedAtKeys(summary)) this.#lastLook = this.#run;
    // A restart that has made nothing may have left the journal where it was, with the rows of earlier runs.
    if (plan.restart && !ofRun.some((exchange) => mayHaveMade(exchange, ofRun))) {
      this.#sent.switchOff();
      this.#wanted.raise(this.#wantedBefore);
    }
    this.#checkSent(ofRun, settings);
    checkLinks(this.#countedLinks(this.#named), this.#wanted);
    this.#limit?.check(service.made, ofRun);
    countShares(this.shares, plan, scenario.user, this.#sent, this.#limit);
    if (hasSecond) return;
    const text = textOf(world.disk, world.disk.wholeOf(settings.output));
    const [{ user }, { made }, { exchanges }] = [scenario, service, network];
    // A row without a link may take a spare one of its target, whatever its title is.
    const isMixed = settings.onSimilar === 'reuse' && this.#hasSpareLinks;
    // Where the results of a restart are missing, earlier ones have links for the rows that it did not come to.
    if (isMixed || (plan.restart && summary?.output === undefined)) this.#areTitlesCertain = false;
    const areTitlesCertain = this.#areTitlesCertain && !exchanges.some(lacksResults);
    const certain = { exchanges, areTitlesCertain, stated: this.#evidence.doubts };
    const results = { text, plan, user, made, ...certain };
    if (summary?.output === undefined) {
      if (this.#isOutputDurable) checkIsWhole(results, this.#outputBefore?.toString());
    } else {
      const named = [...this.#evidence.named].filter((link) => this.#runOf(link) < this.#firstRun);
      const counted = this.#countedLinks(countPairs(named));
      const reported = checkResults({
        ...results,
        mayExist: (pair) => this.#recorded.of(pair) + mayExist(pair, exchanges, made, this.#told),
        counted: (pair) => counted.of(pair),
      });
      checkAgreement(reported, summary, settings, {
        wasKnown: ({ code }) => this.#known.has(code),
        isNew: (link) => this.#runOf(link) === this.#run,
      });
      if (process.journalFailedAt !== undefined) addUnknown(this.#recorded, reported, plan, user);
      // What the results say, the next run has to know.
      for (const { link } of reported) {
        if (link !== undefined && this.#runOf(link) >= this.#firstRun) this.#told.add(link.code);
      }
    }
    if (summary !== undefined) this.#checkSummary(summary, plan, ended);
    if (user.fromStdin && isForgotten(ended, world.disk.names.keys(), text)) {
      this.#beginAgain();
      this.#firstRun = this.#run + 1;
    }
  }

  #checkSummary(summary: ImportSummary, plan: RunPlan, { process, events, exitCode }: Ended): void {
    const { scenario, network, service, world, exitCodeOf } = this.#all;
    const settings = this.#settings;
    if (settings === undefined) return;
    const earlier = service.made.filter((link) => {
      const run = this.#runOf(link);
      return run >= this.#firstRun && run < this.#run;
    });
    checkSummary({
      summary,
      settings,
      plan,
      user: scenario.user,
      events,
      own: network.exchanges.filter((exchange) => exchange.process === process),
      exitCode: exitCode ?? exitCodeOf(summary),
      before: this.#isCertain(earlier, plan) ? earlier : undefined,
      madeNow: service.made.filter((link) => this.#runOf(link) === this.#run).length,
      mayRepeat: this.#sent.isAnyFree || scenario.user.idempotency,
      hadBatches: this.#before.hasBatches,
    });
    if (summary.output === undefined && summary.stopped?.reason !== 'rejects') return;
    checkRejects(summary, plan, scenario.user, textOf(world.disk, summary.rejectsFile ?? ''));
  }

  /**
   * Whether the journal has known these links, and no others, since before the run. After `--restart`, it may be the old one again,
   * where the new one remembers nothing.
   */
  #isCertain(earlier: readonly MadeLink[], { restart }: RunPlan): boolean {
    const isOneEpoch = !restart && this.#firstRun === 1;
    if (!isOneEpoch || this.#sent.isAnyFree || this.#doubts.hasRefusedRows) return false;
    const { exchanges } = this.#all.network;
    const sent = linksSent(exchanges.filter(({ run }) => run < this.#run));
    const isRecorded = [...this.#recorded.entries()].length > 0;
    return (
      !isRecorded && sent === earlier.length && earlier.every(({ code }) => this.#known.has(code))
    );
  }

  /** The run whose request has made a link. */
  #runOf({ request }: MadeLink): number {
    return this.#all.network.exchanges[request - 1]?.run ?? 0;
  }

  /** What the program was told is in its journal, whatever happened afterwards. */
  #checkJournal(ofRun: readonly Exchange[], process: Process): void {
    if (this.#isDamaged) checkIsQuiet(ofRun);
    for (const exchange of ofRun) {
      for (const code of toldCodes(exchange, this.#doubts)) this.#told.add(code);
    }
    const path = this.#settings?.journal;
    if (typeof path !== 'string') return;
    const file = this.#all.world.disk.get(path);
    checkCodes(file, this.#told);
    checkJobs(file, ofRun, process);
  }

  #countedLinks(named: Counts): Counts {
    return countLinks({
      made: this.#all.service.made,
      exchanges: this.#all.network.exchanges,
      firstRun: this.#firstRun,
      wanted: this.#wanted,
      named,
      isCertain: (link) => !this.#sent.isFree(pairOfLink(link)) || this.#told.has(link.code),
    });
  }

  /** No row is sent twice where the first request may have worked, also where it has not. */
  #checkSent(ofRun: readonly Exchange[], { onUnknown }: ImportSettings): void {
    const numbers = new Set(ofRun.map(({ number }) => number));
    const made = this.#all.service.made.filter(({ request }) => numbers.has(request));
    this.#sent.endRun({
      exchanges: ofRun,
      wanted: this.#wanted,
      told: toldLinks(made, this.#told),
      mayRetry: onUnknown === 'retry',
    });
  }
}
