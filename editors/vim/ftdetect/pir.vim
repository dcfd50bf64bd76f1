autocmd BufRead,BufNewFile *.pir setfiletype pir
