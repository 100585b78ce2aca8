import ts from 'typescript';

/** One member of an interface, as it stands in the source. */
export interface Member {
  name: string;
  /** The text of its `@default`, where it has one. */
  defaultText: string | undefined;
}

/** The members that an interface itself declares, in order. */
export function interfaceMembers(source: string, name: string): Member[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const found = file.statements.find(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  if (found === undefined) throw new Error(`there is no interface ${name}`);
  return found.members.map((member) => {
    const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'default');
    return {
      name: member.name?.getText(file) ?? '',
      defaultText: tag && ts.getTextOfJSDocComment(tag.comment),
    };
  });
}
