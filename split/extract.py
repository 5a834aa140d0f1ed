#!/usr/bin/env python3
"""extract.py DIR DEST HEADER name[,name...]...: moves top-level declarations of test or other files of DIR to DIR/DEST."""
import re,sys,glob,os
d,dest=sys.argv[1],sys.argv[2]
names=sys.argv[3:]
out=[]
imports=set()
pkg=None
for name in names:
    found=False
    pats=[r'^func '+re.escape(name)+r'[\[(]', r'^type '+re.escape(name)+r'\b', r'^(?:const|var) '+re.escape(name)+r'\b']
    if '.' in name:
        t,m=name.split('.')
        pats=[r'^func \(\w* ?\*?'+t+r'(?:\[\w+\])?\) '+m+r'\(']
    for f in sorted(glob.glob(d+'/*.go')):
        if os.path.basename(f)==dest: continue
        L=open(f).read().split('\n')
        for i,l in enumerate(L):
            if any(re.match(p,l) for p in pats):
                j=i
                while j>0 and L[j-1].startswith('//'): j-=1
                k=i
                if not (l.rstrip().endswith('}') and l.count('{')==l.count('}')) and ('{' in l or '(' in l and not l.rstrip().endswith(')')) and re.search(r'[{(]$',l.rstrip()):
                    while L[k] not in ('}',')'): k+=1
                block=L[j:k+1]
                del L[j:k+1]
                # collapse blank lines
                while j<len(L) and j>0 and L[j]=='' and L[j-1]=='': del L[j]
                m=re.search(r'^import \(\n(.*?)\n\)',open(f).read(),re.S|re.M)
                if m: imports|=set(x for x in m.group(1).split('\n') if x.strip())
                pkg=L[0]
                open(f,'w').write('\n'.join(L))
                out.append('\n'.join(block)); found=True; break
        if found: break
    if not found: print('NOT FOUND',name)
p=d+'/'+dest
if os.path.exists(p):
    s=open(p).read().rstrip('\n')
    m=re.search(r'^import \(\n(.*?)\n\)',s,re.S|re.M)
    if m:
        have=set(m.group(1).split('\n'))
        s=s.replace(m.group(0),'import (\n'+'\n'.join(sorted(have|imports))+'\n)',1)
else:
    s=pkg+'\n\nimport (\n'+'\n'.join(sorted(imports))+'\n)'
open(p,'w').write(s+'\n\n'+'\n\n'.join(out)+'\n')
