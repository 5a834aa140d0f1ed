import re,sys,subprocess
def fix(p):
    s=open(p).read()
    m=re.search(r'^import \(\n(.*?)\n\)',s,re.S|re.M)
    if not m: return
    L=[l for l in m[1].split('\n')]
    if any(l.strip().startswith('//') for l in L): return
    L=[l for l in L if l.strip()]
    def key(l): return re.search(r'"([^"]+)"',l)[1]
    std=[l for l in L if '.' not in key(l).split('/')[0] and not key(l).startswith('cvgm/')]
    own=[l for l in L if key(l).startswith('cvgm/')]
    ext=[l for l in L if '.' in key(l).split('/')[0]]
    n='\n\n'.join('\n'.join(sorted(g,key=key)) for g in (std,own,ext) if g)
    t=s[:m.start(1)]+n+s[m.end(1):]
    if t!=s: open(p,'w').write(t); return p
for p in sys.argv[1:]: fix(p)
