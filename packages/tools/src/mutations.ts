// The small faults that `pnpm mutants` plants: in code, and in the SQL that stands in it.
import ts from 'typescript';

/** A part of a file, and what takes its place. */
export interface Mutation {
  start: number;
  end: number;
  replacement: string;
}

/** Operators, and what each becomes: the edge of a window, the other branch, the other direction. */
const OPERATORS: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.PlusEqualsToken]: '-=',
  [ts.SyntaxKind.MinusEqualsToken]: '+=',
  [ts.SyntaxKind.QuestionQuestionEqualsToken]: '=',
};

/** Methods without which the list is used as it is. */
const OF_LISTS = ['filter', 'sort', 'toSorted', 'toReversed', 'slice'];

/** Every mutation of a file, in the order of the text. */
export function mutationsOf(text: string): Mutation[] {
  const file = ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, true);
  const found: Mutation[] = [];
  const add = (node: { getStart(): number; end: number }, replacement: string) =>
    found.push({ start: node.getStart(), end: node.end, replacement });
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    if (ts.isTemplateLiteral(node)) found.push(...mutationsOfSql(node.getText(), node.getStart()));
    if (ts.isBinaryExpression(node)) mutateBinary(node, add);
    if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
      const condition = ts.isIfStatement(node) ? node.expression : node.condition;
      for (const value of ['true', 'false']) add(condition, value);
    }
    if (ts.isExpressionStatement(node) && hasEffect(node.expression)) add(node, ';');
    if (ts.isTryStatement(node) && node.finallyBlock !== undefined) add(node.finallyBlock, '{}');
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression: list, name } = node.expression;
      if (OF_LISTS.includes(name.text)) add(node, list.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found.toSorted((a, b) => a.start - b.start);
}

function mutateBinary(
  { left, operatorToken, right, ...node }: ts.BinaryExpression,
  add: (node: { getStart(): number; end: number }, replacement: string) => void,
): void {
  const isText = [left, right].some(
    (side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side),
  );
  const other = OPERATORS[operatorToken.kind];
  const isSum = operatorToken.kind === ts.SyntaxKind.PlusToken;
  if (other !== undefined && !(isSum && isText)) add(operatorToken, other);
  const whole = { getStart: () => left.getStart(), end: node.end };
  const { AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken } = ts.SyntaxKind;
  if (operatorToken.kind === AmpersandAmpersandToken || operatorToken.kind === BarBarToken) {
    for (const side of [left, right]) add(whole, side.getText());
  }
  if (operatorToken.kind === QuestionQuestionToken) add(whole, right.getText());
}

/** A call, an assignment or a deletion; not what ends a function, nor a directive. */
function hasEffect(expression: ts.Expression): boolean {
  const inner =
    ts.isAwaitExpression(expression) || ts.isVoidExpression(expression)
      ? expression.expression
      : expression;
  if (ts.isCallExpression(inner)) return inner.expression.kind !== ts.SyntaxKind.SuperKeyword;
  if (ts.isDeleteExpression(inner) || ts.isPostfixUnaryExpression(inner)) return true;
  return (
    ts.isBinaryExpression(inner) &&
    inner.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
    inner.operatorToken.kind <= ts.SyntaxKind.LastAssignment
  );
}

const IS_SQL = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE (TABLE|INDEX|VIEW)|WHERE|day <)\b/;

/** A condition up to where the next one begins. A value of JavaScript in it is one piece. */
const CONDITION = String.raw`(?:\$\{[^}]*\}|\([^()]*\)|[^()$])+?(?=\s+(?:AND|OR|ORDER|GROUP|LIMIT|RETURNING|ON|UNION|FOR)\b|\s*[)\x60]|\s*$)`;

/** What is looked for in SQL, and what takes its place. */
const SQL: readonly (readonly [RegExp, string | ((match: string) => string)])[] = [
  [new RegExp(String.raw`\s+AND\s+${CONDITION}`, 'g'), ''],
  [new RegExp(String.raw`(?<=WHERE\s+)${CONDITION}\s+AND\s+`, 'g'), ''],
  [/(?<=\s)<=(?=\s)/g, '<'],
  [/(?<=\s)>=(?=\s)/g, '>'],
  [/(?<=\s)<(?=\s)/g, '<='],
  [/(?<=\s)>(?=\s)/g, '>='],
  [/(?<=\s)\+(?=\s)/g, '-'],
  [/(?<=\s)-(?=\s)/g, '+'],
  [/\s+ORDER BY (?:\$\{[^}]*\}|[\w.]+)(?: DESC)?(?:, (?:\$\{[^}]*\}|[\w.]+)(?: DESC)?)*/g, ''],
  [/ DESC\b/g, ''],
  [/\s+LIMIT (?:\$\{[^}]*\}|\d+)/g, ''],
  [/\bDISTINCT /g, ''],
  [/\bUNION ALL\b/g, 'UNION'],
  [/\s+FOR (?:NO KEY )?UPDATE(?: SKIP LOCKED)?/g, ''],
  [/\s+WHERE (?:\$\{[^}]*\}|[^`()])*?(?=\s*`|\s+RETURNING|\s+ORDER)/g, ''],
];

function mutationsOfSql(text: string, offset: number): Mutation[] {
  if (!IS_SQL.test(text)) return [];
  return SQL.flatMap(([pattern, replacement]) =>
    [...text.matchAll(pattern)].map(
      ({ index, 0: match }): Mutation => ({
        start: offset + index,
        end: offset + index + match.length,
        replacement: typeof replacement === 'string' ? replacement : replacement(match),
      }),
    ),
  ).filter(({ start, end }) => !isInCode(text, start - offset, end - offset));
}

/** Whether a change begins in a value of JavaScript that stands in the SQL: that is code, and mutated as such. */
function isInCode(text: string, start: number, end: number): boolean {
  for (const { index, 0: value } of text.matchAll(/\$\{[^}]*\}/g)) {
    if (index <= start && end <= index + value.length) return true;
  }
  return false;
}
