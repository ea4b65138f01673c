-- Whether the source answered before the version `n` began. {{knownBefore}}: the pull `p` was before; {{isPartKnown}}: it could list the part of `n`;
-- {{source}}: the source; {{after}}: pulls since this time count, a literal
exists (
  from pulls as p
  where
    p.target = n.target
    and p.source = {{source}}
    and p.status in ('complete', 'partial')
    and p.as_of > {{after}}::timestamptz
    and {{knownBefore}}
    and {{isPartKnown}}
)
